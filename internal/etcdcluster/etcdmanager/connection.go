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

// connection holds the open connection to etcd, if any. The zero value has none. A reconcile gets the connection once; if it is closed meanwhile, only
// requests fail.
type connection struct {
	mu     sync.Mutex
	etcd   etcdclient.Etcd
	key    string // its parameters
	cancel context.CancelFunc
	// failures counts successive reconciles in which etcd did not answer. Only reconciles change it.
	failures int
}

// open returns the open connection if it has a key, and nil otherwise.
func (l *connection) open(key string) etcdclient.Etcd {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != key {
		return nil
	}
	return l.etcd
}

// replace closes the open connection and stores another one, which is closed together with cancel.
func (l *connection) replace(key string, etcd etcdclient.Etcd, cancel context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.etcd != nil {
		l.cancel()
		_ = l.etcd.Close() // the connection is not used again
	}
	l.etcd, l.key, l.cancel = etcd, key, cancel
}

func (l *connection) close() { l.replace("", nil, nil) }

// connect opens the connection of the reconcile unless it is open. Without voting members, there is none.
func (r *Run) connect(cred credentials) error {
	endpoints := r.votersOrExternal()
	if len(endpoints) == 0 {
		r.connection.close()
		return nil
	}
	key := strings.Join(append(slices.Clone(endpoints), r.Prefix, string(cred.own()[corev1.TLSCertKey]), string(cred.own()[etcdcluster.BundleKey])), "\n")
	if r.Etcd = r.connection.open(key); r.Etcd != nil {
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
	r.connection.replace(key, r.Etcd, cancel)
	r.connection.failures = 0
	r.granted = nil
	go r.Etcd.Watch(ctx, r.Prefix+"/", r.deps.Changed)
	return nil
}

// votersOrExternal returns the endpoints to connect to. It omits learners, which refuse most requests.
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
