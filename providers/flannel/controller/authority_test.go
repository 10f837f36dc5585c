package controller

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
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// steadyEtcd is an etcd whose members are those of the record, and always well.
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
func (steadyEtcd) Disarm(context.Context) error                     { return nil }
func (steadyEtcd) Enforced(context.Context) (bool, error)           { return false, nil }
func (steadyEtcd) Enforce(context.Context, func(string) bool) error { return nil }
func (steadyEtcd) Users(context.Context) ([]string, error)          { return nil, nil }
func (steadyEtcd) Administer(context.Context, string) error         { return nil }
func (steadyEtcd) Expel(context.Context, string) error              { return nil }
func (steadyEtcd) ReplacePassword(context.Context, string) error    { return nil }
func (steadyEtcd) Answers(context.Context, string) (etcdclient.Database, error) {
	return etcdclient.Database{}, nil
}
func (steadyEtcd) Grant(context.Context, string, []etcdcluster.Permission) error {
	return nil
}
func (steadyEtcd) Close() error { return nil }

// calendar plays the years of a cluster of three members, whose pods start again when their Deployment says so, one
// at a time, and with the certificates of that moment.
type calendar struct {
	t    *testing.T
	api  client.Client
	loop *Controller
	now  time.Time
	// loaded is what each member trusts: etcd reads it once.
	loaded   map[string]certs.Bundle
	restarts int
}

// calendarScheme has the kinds that the loop uses. The fake client goes through all kinds of a scheme at every write.
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
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.ConfigMap}, Data: map[string]string{
		record.AgentKey:    `{"version":1,"etcd":{"endpoints":[],"prefix":"/p"},"network":{"ipv4":"10.0.0.0/16","ipv4SubnetLen":24}}`,
		record.SettingsKey: `{"managed":{"clientPort":1,"peerPort":2,"image":"etcd:v1"}}`,
	}}
	builder := fake.NewClientBuilder().WithScheme(calendarScheme()).WithStatusSubresource(&appsv1.Deployment{}, &certificatesv1.CertificateSigningRequest{}).WithObjects(config)
	for name, address := range map[string]string{"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"} {
		builder.WithObjects(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
		})
	}
	c.api = builder.Build()
	c.loop = New(Deps{Client: c.api, Live: c.api, Namespace: operatorNamespace, Now: func() time.Time { return c.now },
		Requests: func(context.Context) ([]certificatesv1.CertificateSigningRequest, error) { return nil, nil },
		Dial:     func(etcdclient.Target) (etcdclient.Etcd, error) { return steadyEtcd{members: c.members}, nil },
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil))})
	t.Cleanup(c.loop.Close)
	return c
}

func (c *calendar) members() etcdcluster.Membership {
	var cm corev1.ConfigMap
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Namespace: record.Namespace, Name: record.Etcd.MembersConfigMap()}, &cm); err != nil {
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
	if name == record.Etcd.RootSecret() {
		return client.ObjectKey{Namespace: operatorNamespace, Name: name}
	}
	return client.ObjectKey{Namespace: record.Namespace, Name: name}
}

// leaf returns the certificate in a Secret, and the authorities beside it.
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

// pass lets the loop look once, and then one pod start again.
func (c *calendar) pass() {
	c.t.Helper()
	if _, err := c.loop.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
	for _, m := range c.members().Members {
		var secret corev1.Secret
		if !m.Runs() || c.api.Get(c.t.Context(), client.ObjectKey{Namespace: record.Namespace, Name: record.Etcd.MemberSecret(m.Node)}, &secret) != nil {
			continue
		}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Etcd.MemberDeployment(m.Node)}}
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
		_, c.loaded[m.Name] = c.leaf(record.Etcd.MemberSecret(m.Node))
		c.restarts++
		return
	}
}

// handshakes checks everyone against everyone.
func (c *calendar) handshakes() {
	c.t.Helper()
	all := c.members().Members
	pairs := []string{record.Etcd.ClientSecret(), record.Etcd.RootSecret()}
	for _, m := range all {
		pairs = append(pairs, record.Etcd.MemberSecret(m.Node))
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
			server, _ := c.leaf(record.Etcd.MemberSecret(m.Node))
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
		c.pass()
	}
	if n := len(c.loaded); n != 3 {
		t.Fatalf("%d members run", n)
	}
	c.restarts = 0
	signers := map[string]bool{}
	for end := c.now.AddDate(11, 0, 0); c.now.Before(end); c.now = c.now.Add(10 * 24 * time.Hour) {
		for range 6 {
			c.pass()
			c.handshakes()
		}
		pair, _ := c.leaf(record.Etcd.ClientSecret())
		cert, _, err := pair.Parse()
		if err != nil {
			t.Fatal(err)
		}
		signers[cert.Issuer.CommonName] = true
	}
	if len(signers) != 3 {
		t.Errorf("%d authorities signed in eleven years, want 3", len(signers))
	}
	// Each authority comes and goes: a restart of every member for each.
	if c.restarts == 0 || c.restarts > 3*2*2+3 {
		t.Errorf("members were started again %d times", c.restarts)
	}
}
