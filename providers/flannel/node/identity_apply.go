package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

const (
	// lookAtIdentity is how often the certificate and the CAs are compared with what is wanted.
	lookAtIdentity = 10 * time.Second
	// refusedPause is how long to wait after the operator refused a request: it takes only a few in an hour.
	refusedPause = 20 * time.Minute
)

// ErrRefused means that a request for a certificate was denied, or failed: another one is needed.
var ErrRefused = errors.New("the request for a certificate was refused")

// Signer has requests for certificates signed.
type Signer interface {
	// Sign creates a request of the given name unless it exists, waits until it is signed, and returns the certificate
	// as PEM. It wraps ErrRefused if it never will be.
	Sign(ctx context.Context, name string, request []byte) ([]byte, error)
}

// errRenewed ends a connection that presents another certificate than the node has now.
var errRenewed = errors.New("the node has another certificate")

// identityFiles are where the node keeps its certificate, its key, and the key of a request that is not signed yet.
func identityFiles(config agentconfig.Config) (certificate, key, pending string) {
	in := func(name string) string { return filepath.Join(config.StateDir, name) }
	return in("etcd-client.crt"), in("etcd-client.key"), in("etcd-client.key.pending")
}

// loadIdentity returns the node's certificate from the disk; nil if there is none that can be used.
func loadIdentity(config agentconfig.Config, node string, now time.Time) *tls.Certificate {
	if !config.Etcd.OwnCertificate {
		return nil
	}
	certificateFile, keyFile, _ := identityFiles(config)
	certificate, err := os.ReadFile(certificateFile)
	if err != nil {
		return nil
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil
	}
	bundle, err := trustedCAs(config)
	if err != nil {
		return nil
	}
	pair, err := checkIdentity(node, certificate, key, bundle, now)
	if err != nil {
		return nil
	}
	return pair
}

func trustedCAs(config agentconfig.Config) (certs.Bundle, error) {
	content, err := os.ReadFile(config.Etcd.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificate authorities: %w", err)
	}
	bundle, err := certs.ParseBundle(content)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", config.Etcd.CAFile, err)
	}
	return bundle, nil
}

// keepIdentity keeps a certificate of the node's own until the context ends.
func (a *flanneld) keepIdentity(ctx context.Context) error {
	for ctx.Err() == nil {
		pair := loadIdentity(a.Config, a.Node, a.Now())
		a.identity.Update(func(have **tls.Certificate) bool {
			if sameIdentity(*have, pair) {
				return false
			}
			*have = pair
			return true
		})
		if !dueIdentity(pair, a.Now()) {
			a.board.Note(topicIdentity, nil)
			agent.Pause(ctx, lookAtIdentity, nil)
			continue
		}
		err := a.renewIdentity(ctx)
		if ctx.Err() != nil {
			return nil
		}
		a.board.Note(topicIdentity, err)
		switch {
		case errors.Is(err, ErrRefused):
			agent.Pause(ctx, refusedPause, nil)
		case err != nil:
			agent.Pause(ctx, lookAtIdentity, nil)
		default:
			a.Log.Info("the node has a certificate for etcd")
		}
	}
	return nil
}

func sameIdentity(a, b *tls.Certificate) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Leaf.Raw, b.Leaf.Raw)
}

// renewIdentity requests a certificate and writes it to the disk. Its key is there first, so that an agent that starts
// again waits for the same request.
func (a *flanneld) renewIdentity(ctx context.Context) error {
	if a.Sign == nil {
		return errors.New("the node cannot request a certificate: the Kubernetes API is not configured")
	}
	certificateFile, keyFile, pending := identityFiles(a.Config)
	key, err := os.ReadFile(pending)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = newKey(); err == nil {
			err = durable.WriteFile(pending, key, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("keep key for etcd: %w", err)
	}
	request, err := newRequest(a.Node, key)
	if err == nil {
		var certificate []byte
		if certificate, err = a.Sign.Sign(ctx, request.Name, request.PEM); err == nil {
			err = a.takeIdentity(certificate, key, certificateFile, keyFile)
		}
	}
	if err == nil || errors.Is(err, ErrRefused) || errors.Is(err, errUnusable) {
		// The key is used, or its request never will be signed.
		err = errors.Join(err, os.Remove(pending))
	}
	return err
}

// errUnusable means that the signed certificate cannot be used.
var errUnusable = errors.New("the certificate that the operator has signed cannot be used")

func (a *flanneld) takeIdentity(certificate, key []byte, certificateFile, keyFile string) error {
	bundle, err := trustedCAs(a.Config)
	if err != nil {
		return err
	}
	if _, err := checkIdentity(a.Node, certificate, key, bundle, a.Now()); err != nil {
		return fmt.Errorf("%w: %w", errUnusable, err)
	}
	if err := durable.WriteFile(keyFile, key, 0o600); err != nil {
		return fmt.Errorf("keep key for etcd: %w", err)
	}
	if err := durable.WriteFile(certificateFile, certificate, 0o600); err != nil {
		return fmt.Errorf("keep certificate for etcd: %w", err)
	}
	return nil
}

// presents notes whether the agent presents a certificate of its own.
func (a *flanneld) presents(own *tls.Certificate) {
	a.board.Update(func(b *status) bool {
		changed := b.OwnCertificate != (own != nil)
		b.OwnCertificate = own != nil
		return changed
	})
}

// watchRenewal returns errRenewed when the node has another certificate, nil when the context ends.
func watchRenewal(ctx context.Context, renewed <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return nil
	case <-renewed:
		return errRenewed
	}
}
