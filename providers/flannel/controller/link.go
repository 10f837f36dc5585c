package controller

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// link is the connection to etcd that is open, if any. The zero value is none. A pass takes the connection once, so
// that closing it meanwhile makes requests fail, and nothing worse.
type link struct {
	mu     sync.Mutex
	etcd   Etcd
	key    string // what it was made for
	cancel context.CancelFunc
	// failures counts passes in a row in which etcd did not answer. Only passes touch it.
	failures int
}

// open returns the connection that was made for a key, if it is still the one that is open.
func (l *link) open(key string) Etcd {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != key {
		return nil
	}
	return l.etcd
}

// replace closes the connection that is open, and keeps another instead. cancel ends what goes with it.
func (l *link) replace(key string, etcd Etcd, cancel context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.etcd != nil {
		l.cancel()
		_ = l.etcd.Close() // it is given up, whatever it says
	}
	l.etcd, l.key, l.cancel = etcd, key, cancel
}

func (l *link) close() { l.replace("", nil, nil) }

// connect makes the connection that the pass needs, unless it is open. There is none while no one could answer.
func (p *pass) connect(cred credentials) error {
	endpoints := p.votersOrExternal()
	if len(endpoints) == 0 {
		p.link.close()
		return nil
	}
	key := strings.Join(append(slices.Clone(endpoints), p.in.agents.Etcd.Prefix, string(cred.own()[corev1.TLSCertKey]), string(cred.own()[record.BundleKey])), "\n")
	if p.etcd = p.link.open(key); p.etcd != nil {
		return nil
	}
	config, err := tlsConfig(cred.own())
	if err != nil {
		return err
	}
	if p.etcd, err = p.deps.Dial(Target{Endpoints: endpoints, TLS: config, Timeout: p.deps.Timeout}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.link.replace(key, p.etcd, cancel)
	p.link.failures = 0
	p.granted = nil
	go p.etcd.Watch(ctx, p.in.agents.Etcd.Prefix+"/", p.trigger.Fire)
	return nil
}

// votersOrExternal returns the members to connect to. Learners answer almost nothing, and would only be tried in vain.
func (p *pass) votersOrExternal() []string {
	if p.in.settings.External != nil {
		return p.in.settings.External.Endpoints
	}
	var out []string
	for _, m := range p.in.members.Members {
		if m.Votes() {
			out = append(out, m.ClientURL)
		}
	}
	return out
}

// tlsConfig returns nil if there are no credentials.
func tlsConfig(data map[string][]byte) (*tls.Config, error) {
	if len(data) == 0 {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(data[record.BundleKey])
	if len(bytes.TrimSpace(data[corev1.TLSCertKey])) == 0 {
		return config, nil
	}
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read the certificate for etcd: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// failed notes that etcd did not answer, and when to try again: after 1, 2, 4 ... 30 seconds.
func (p *pass) failed() {
	p.soonest(min(mostWait, soon<<min(p.link.failures, 10)))
	p.link.failures++
}

func (p *pass) succeeded() { p.link.failures = 0 }

// soonest asks for another pass after a time, if none was asked for before that.
func (p *pass) soonest(d time.Duration) { p.again = min(p.again, d) }
