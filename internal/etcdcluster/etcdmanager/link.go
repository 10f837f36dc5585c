package etcdmanager

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
)

// link is the connection to etcd that is open, if any. The zero value is none. A reconcile takes the connection once,
// so that closing it meanwhile makes requests fail, and nothing worse.
type link struct {
	mu     sync.Mutex
	etcd   etcdclient.Etcd
	key    string // what it was made for
	cancel context.CancelFunc
	// failures counts reconciles in a row in which etcd did not answer. Only reconciles change it.
	failures int
}

// open returns the connection that was made for a key, if it is still the one that is open.
func (l *link) open(key string) etcdclient.Etcd {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != key {
		return nil
	}
	return l.etcd
}

// replace closes the connection that is open, and keeps another instead. cancel ends what goes with it.
func (l *link) replace(key string, etcd etcdclient.Etcd, cancel context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.etcd != nil {
		l.cancel()
		_ = l.etcd.Close() // it is given up, also if that fails
	}
	l.etcd, l.key, l.cancel = etcd, key, cancel
}

func (l *link) close() { l.replace("", nil, nil) }

// connect makes the connection that the reconcile needs, unless it is open. There is none while no one could answer.
func (r *Run) connect(cred credentials) error {
	endpoints := r.votersOrExternal()
	if len(endpoints) == 0 {
		r.link.close()
		return nil
	}
	key := strings.Join(append(slices.Clone(endpoints), r.Prefix, string(cred.own()[corev1.TLSCertKey]), string(cred.own()[etcdcluster.BundleKey])), "\n")
	if r.Etcd = r.link.open(key); r.Etcd != nil {
		return nil
	}
	config, err := etcdclient.TLSConfig(cred.own())
	if err != nil {
		return err
	}
	if r.Etcd, err = r.deps.Dial(etcdclient.Target{Endpoints: endpoints, TLS: config, Timeout: r.deps.Timeout}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.link.replace(key, r.Etcd, cancel)
	r.link.failures = 0
	r.granted = nil
	go r.Etcd.Watch(ctx, r.Prefix+"/", r.deps.Changed)
	return nil
}

// votersOrExternal returns the members to connect to. Learners answer almost nothing, and would only be tried in vain.
func (r *Run) votersOrExternal() []string {
	if r.Settings.External != nil {
		return r.Settings.External.Endpoints
	}
	var out []string
	for _, m := range r.Members.Members {
		if m.Votes() {
			out = append(out, m.ClientURL)
		}
	}
	return out
}
