package etcdmanager_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
)

// steadyEtcd is an etcd whose members are those of the record, and always healthy.
type steadyEtcd struct {
	etcdclient.Etcd
	members func() etcdcluster.Membership
}

func (e steadyEtcd) List(context.Context) ([]etcdclient.Member, error) {
	var out []etcdclient.Member
	for i, m := range e.members().Members {
		out = append(out, etcdclient.Member{ID: uint64(i + 1), Name: m.Name, PeerURL: m.PeerURL})
	}
	return out, nil
}

func (steadyEtcd) AddLearner(context.Context, string) error                    { return nil }
func (steadyEtcd) Promote(context.Context, uint64) error                       { return nil }
func (steadyEtcd) Remove(context.Context, uint64) error                        { return nil }
func (steadyEtcd) Read(context.Context, string) ([]etcdclient.KeyValue, error) { return nil, nil }
func (steadyEtcd) Commit(context.Context, etcdclient.Change) (bool, error)     { return true, nil }
func (steadyEtcd) Watch(ctx context.Context, _ string, _ func())               { <-ctx.Done() }
func (steadyEtcd) Move(context.Context, uint64, string) error                  { return nil }
func (steadyEtcd) Compact(context.Context) error                               { return nil }
func (steadyEtcd) Defragment(context.Context, string) error                    { return nil }
func (steadyEtcd) Snapshot(context.Context) (io.ReadCloser, error) {
	return nil, errors.New("not part of the model")
}
func (steadyEtcd) Disarm(context.Context) error                        { return nil }
func (steadyEtcd) AuthEnabled(context.Context) (bool, error)           { return false, nil }
func (steadyEtcd) EnableAuth(context.Context, func(string) bool) error { return nil }
func (steadyEtcd) Users(context.Context) ([]string, error)             { return nil, nil }
func (steadyEtcd) GrantRoot(context.Context, string) error             { return nil }
func (steadyEtcd) DeleteUser(context.Context, string) error            { return nil }
func (steadyEtcd) ReplacePassword(context.Context, string) error       { return nil }
func (steadyEtcd) Status(context.Context, string) (etcdclient.Database, error) {
	return etcdclient.Database{}, nil
}
func (steadyEtcd) Grant(context.Context, string, []etcdcluster.Permission) error {
	return nil
}
func (steadyEtcd) Close() error { return nil }

// calendar plays the years of three members, whose pods start again when their Deployment has changed, one
// at a time, and with the certificates of that moment.
type calendar struct {
	t    *testing.T
	api  client.Client
	loop *network
	now  time.Time
	// loaded is what each member trusts: etcd reads it once.
	loaded   map[string]certs.Bundle
	restarts int
}

// calendarScheme has the kinds that the controller uses. The fake client iterates over all kinds of a scheme at every write.
func calendarScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, certificatesv1.AddToScheme} {
		utilruntime.Must(add(s))
	}
	return s
}

func newCalendar(t *testing.T) *calendar {
	t.Helper()
	c := &calendar{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), loaded: map[string]certs.Bundle{}}
	builder := fake.NewClientBuilder().WithScheme(calendarScheme()).WithStatusSubresource(&appsv1.Deployment{}, &certificatesv1.CertificateSigningRequest{})
	for name, address := range map[string]string{"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"} {
		builder.WithObjects(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
		})
	}
	c.api = builder.Build()
	settings := etcdcluster.Settings{Managed: &etcdcluster.Managed{ClientPort: 1, PeerPort: 2, Image: "etcd:v1"}}
	c.loop = newNetwork(deps{
		Deps: etcdmanager.Deps{
			Client: c.api, Live: c.api, Namespace: operatorNamespace, Now: func() time.Time { return c.now },
			Requests: func(context.Context) ([]certificatesv1.CertificateSigningRequest, error) { return nil, nil },
			Dial:     func(etcdclient.Target) (etcdclient.Etcd, error) { return steadyEtcd{members: c.members}, nil },
			Log:      slog.New(slog.NewTextHandler(io.Discard, nil)),
		},
		settings: func() etcdcluster.Settings { return settings },
		report:   func(...status.Finding) {},
	})
	t.Cleanup(c.loop.Close)
	return c
}

func (c *calendar) members() etcdcluster.Membership {
	var cm corev1.ConfigMap
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.MembersConfigMap()}, &cm); err != nil {
		return etcdcluster.Membership{}
	}
	m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
	if err != nil {
		c.t.Fatal(err)
	}
	return m
}

// secretKey returns where a Secret is, by its name.
func secretKey(name string) client.ObjectKey {
	if name == cluster.RootSecret() {
		return client.ObjectKey{Namespace: operatorNamespace, Name: name}
	}
	return client.ObjectKey{Namespace: cluster.Namespace, Name: name}
}

// leaf returns the certificate in a Secret, and the CAs beside it.
func (c *calendar) leaf(name string) (certs.Pair, certs.Bundle) {
	c.t.Helper()
	var s corev1.Secret
	if err := c.api.Get(c.t.Context(), secretKey(name), &s); err != nil {
		c.t.Fatal(err)
	}
	bundle, err := certs.ParseBundle(s.Data[etcdcluster.BundleKey])
	if err != nil {
		c.t.Fatal(err)
	}
	return certs.Pair{Certificate: s.Data["tls.crt"], Key: s.Data["tls.key"]}, bundle
}

// turn runs one reconcile, and then restarts one pod.
func (c *calendar) turn() {
	c.t.Helper()
	if _, err := c.loop.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
	for _, m := range c.members().Members {
		var secret corev1.Secret
		if !m.Runs() || c.api.Get(c.t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.MemberSecret(m.Node)}, &secret) != nil {
			continue
		}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.MemberDeployment(m.Node)}}
		err := c.api.Get(c.t.Context(), client.ObjectKeyFromObject(d), d)
		if err == nil && d.Spec.Template.Annotations[etcdcluster.ConfigHash] == m.PodHash() {
			continue
		}
		d.Spec.Template.Annotations = map[string]string{etcdcluster.ConfigHash: m.PodHash()}
		if err == nil {
			err = c.api.Update(c.t.Context(), d)
		} else {
			err = c.api.Create(c.t.Context(), d)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
		if err := c.api.Status().Update(c.t.Context(), d); err != nil {
			c.t.Fatal(err)
		}
		_, c.loaded[m.Name] = c.leaf(cluster.MemberSecret(m.Node))
		c.restarts++
		return
	}
}

// handshakes checks everyone against everyone.
func (c *calendar) handshakes() {
	c.t.Helper()
	all := c.members().Members
	pairs := []string{cluster.ClientSecret(), cluster.RootSecret()}
	for _, m := range all {
		pairs = append(pairs, cluster.MemberSecret(m.Node))
	}
	for _, name := range pairs {
		pair, trusted := c.leaf(name)
		cert, _, err := pair.Parse()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, m := range all {
			if loaded, runs := c.loaded[m.Name]; runs && !loaded.Trusts(cert, c.now) {
				c.t.Fatalf("%s: %s refuses %s", c.now.Format(time.DateOnly), m.Name, name)
			}
			server, _ := c.leaf(cluster.MemberSecret(m.Node))
			if other, _, err := server.Parse(); err != nil || !trusted.Trusts(other, c.now) {
				c.t.Fatalf("%s: %s refuses the server %s (%v)", c.now.Format(time.DateOnly), name, m.Name, err)
			}
		}
	}
}

// TestCertificatesAreReplacedForYearsWithoutAHandshakeFailing plays eleven years, ten days at a time.
func TestCertificatesAreReplacedForYearsWithoutAHandshakeFailing(t *testing.T) {
	t.Parallel()
	c := newCalendar(t)
	for range 12 {
		c.turn()
	}
	if n := len(c.loaded); n != 3 {
		t.Fatalf("%d members run", n)
	}
	c.restarts = 0
	signers := map[string]bool{}
	for end := c.now.AddDate(11, 0, 0); c.now.Before(end); c.now = c.now.Add(10 * 24 * time.Hour) {
		for range 6 {
			c.turn()
			c.handshakes()
		}
		pair, _ := c.leaf(cluster.ClientSecret())
		cert, _, err := pair.Parse()
		if err != nil {
			t.Fatal(err)
		}
		signers[cert.Issuer.CommonName] = true
	}
	if len(signers) != 3 {
		t.Errorf("%d CAs signed in eleven years, want 3", len(signers))
	}
	// Each CA is added and removed: a restart of every member for each.
	if c.restarts == 0 || c.restarts > 3*2*2+3 {
		t.Errorf("members were started again %d times", c.restarts)
	}
}
