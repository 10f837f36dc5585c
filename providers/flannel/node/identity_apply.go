package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/nodecert"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// identityInterval is how often the certificate and the CAs are checked.
	identityInterval = 10 * time.Second
	// refusedPause is the delay after the operator refused a request: it accepts only a few per hour.
	refusedPause = 20 * time.Minute
)

// errRenewed ends a connection that uses an outdated certificate.
var errRenewed = errors.New("the node has another certificate")

// identity returns the certificate identity of the node for etcd.
func identity(config agentconfig.Config, node string) nodecert.Identity {
	return nodecert.Identity{
		For: "etcd", Prefix: "flannel-etcd-", Template: x509.CertificateRequest{Subject: pkix.Name{CommonName: record.Etcd.NodeUser(node)}},
		Dir: config.StateDir, Base: "etcd-client", CAFile: config.Etcd.CAFile,
	}
}

// loadIdentity loads the node's certificate; nil if there is no valid one.
func loadIdentity(config agentconfig.Config, node string, now time.Time) *tls.Certificate {
	if !config.Etcd.OwnCertificate {
		return nil
	}
	pair, err := identity(config, node).Load(now)
	if err != nil {
		return nil // a new one is requested
	}
	return pair
}

// keepIdentity renews the node's certificate until the context ends.
func (a *flanneld) keepIdentity(ctx context.Context) error {
	for ctx.Err() == nil {
		pair := loadIdentity(a.Config, a.Node, a.Now())
		a.identity.Update(func(current **tls.Certificate) bool {
			if sameIdentity(*current, pair) {
				return false
			}
			*current = pair
			return true
		})
		if !nodecert.Due(pair, a.Now()) {
			a.board.Note(topicIdentity, nil)
			agent.Pause(ctx, identityInterval, nil)
			continue
		}
		err := a.renewIdentity(ctx)
		if ctx.Err() != nil {
			return nil
		}
		a.board.Note(topicIdentity, err)
		switch {
		case errors.Is(err, nodecert.ErrRefused):
			agent.Pause(ctx, refusedPause, nil)
		case err != nil:
			agent.Pause(ctx, identityInterval, nil)
		default:
			a.Log.Info("issued a certificate for etcd")
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

// renewIdentity requests a certificate and saves it.
func (a *flanneld) renewIdentity(ctx context.Context) error {
	if a.Sign == nil {
		return errors.New("the node cannot request a certificate: the Kubernetes API is not configured")
	}
	return identity(a.Config, a.Node).Renew(ctx, a.Sign, a.Now)
}

// reportIdentity reports whether the agent uses its own certificate.
func (a *flanneld) reportIdentity(own *tls.Certificate) {
	a.board.Update(func(b *status) bool {
		changed := b.OwnCertificate != (own != nil)
		b.OwnCertificate = own != nil
		return changed
	})
}

// watchRenewal returns errRenewed when the node's certificate changes, and nil when the context ends.
func watchRenewal(ctx context.Context, renewed <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return nil
	case <-renewed:
		return errRenewed
	}
}
