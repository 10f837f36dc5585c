package pki

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// cluster is an OperatorPKI on the shared API server with a controller, which reconciles only when the test calls it.
type cluster struct {
	*Controller
	api      client.Client
	t        *testing.T
	key      client.ObjectKey
	now      time.Time
	findings []status.Finding
	events   *events.FakeRecorder
	registry *prometheus.Registry
}

func newCluster(t *testing.T, namespace string, spec networkv1.OperatorPKISpec) *cluster {
	t.Helper()
	server := apitest.Shared(t)
	if namespace == "" {
		namespace = server.Namespace(t)
	} else if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	w := &cluster{api: server.Client, t: t, key: client.ObjectKey{Namespace: namespace, Name: "ovn"}, now: start, events: events.NewFakeRecorder(1000), registry: prometheus.NewRegistry()}
	pki := &networkv1.OperatorPKI{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ovn"}, Spec: spec}
	if err := server.Client.Create(t.Context(), pki); err != nil {
		t.Fatal(err)
	}
	w.fresh(server.Client)
	return w
}

// fresh is a new process.
func (w *cluster) fresh(c client.Client) {
	w.t.Helper()
	metrics, err := NewMetrics(w.registry)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Controller = &Controller{
		Client: c, Live: c, Account: client.ObjectKey{Namespace: "openshift-network-operator", Name: "cluster-network-operator"},
		OfCluster: func(namespace string) bool { return strings.HasPrefix(namespace, "openshift-pki-test") },
		Report:    func(f ...status.Finding) { w.findings = f }, Events: w.events, Metrics: metrics,
		Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler),
	}
}

func (w *cluster) reconcile() reconcile.Result {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: w.key})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *cluster) pki() *networkv1.OperatorPKI {
	w.t.Helper()
	var pki networkv1.OperatorPKI
	if err := w.api.Get(w.t.Context(), w.key, &pki); err != nil {
		w.t.Fatal(err)
	}
	return &pki
}

func get[T client.Object](w *cluster, name string, into T) T {
	w.t.Helper()
	if err := w.api.Get(w.t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: name}, into); err != nil {
		w.t.Fatal(err)
	}
	return into
}

func (w *cluster) wantCondition(condition string, want metav1.ConditionStatus, reason, contains string) {
	w.t.Helper()
	live := meta.FindStatusCondition(w.pki().Status.Conditions, condition)
	if live == nil || live.Status != want || live.Reason != reason || !strings.Contains(live.Message, contains) {
		w.t.Errorf("%s is %+v, want %s, %s, %q", condition, live, want, reason, contains)
	}
}

func (w *cluster) hasEvent(reason string) bool {
	for {
		select {
		case event := <-w.events.Events:
			if strings.Contains(event, reason) {
				return true
			}
		default:
			return false
		}
	}
}

// gauges returns how many certificates the metric names.
func (w *cluster) gauges() int {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		n += len(f.Metric)
	}
	return n
}

func TestObjectsHaveTheNamesOfOpenShiftAndTheirOwner(t *testing.T) {
	w := newCluster(t, "", quick().Spec)
	if again := w.reconcile().RequeueAfter; again != resyncInterval {
		t.Errorf("looks again after %s", again)
	}
	ca, certificate := get(w, "ovn-ca", &corev1.Secret{}), get(w, "ovn-cert", &corev1.Secret{})
	bundle := get(w, "ovn-ca", &corev1.ConfigMap{})
	leaf, _, err := pairOf(certificate.Data).Parse()
	if err != nil || !certs.Salvage([]byte(bundle.Data["ca-bundle.crt"])).Trusts(leaf, start) {
		t.Errorf("the certificate is not trusted by the bundle: %v", err)
	}
	for _, o := range []client.Object{ca, certificate, bundle} {
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.UID != w.pki().UID || owner.BlockOwnerDeletion != nil || o.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy {
			t.Errorf("%T %s is owned by %+v", o, o.GetName(), owner)
		}
	}
	if ca.Type != corev1.SecretTypeTLS || certificate.Annotations[annotationNotAfter] == "" {
		t.Error("the Secrets are not what programs of OpenShift expect")
	}
	status := w.pki().Status
	if !status.Certificate.NotAfter.Time.Equal(leaf.NotAfter) || !status.Authority.Refresh.Time.Equal(start.Add(500*time.Hour)) || status.Trusted != 1 {
		t.Errorf("the status is %+v", status)
	}
	w.wantCondition(networkv1.ConditionReady, metav1.ConditionTrue, "AsExpected", "")
	w.wantCondition(networkv1.ConditionRotating, metav1.ConditionFalse, "AsExpected", "")
	if w.gauges() != 2 {
		t.Errorf("%d certificates in the metric", w.gauges())
	}
	before := ca.ResourceVersion + certificate.ResourceVersion + bundle.ResourceVersion + w.pki().ResourceVersion
	w.reconcile()
	if after := get(w, "ovn-ca", &corev1.Secret{}).ResourceVersion + get(w, "ovn-cert", &corev1.Secret{}).ResourceVersion + get(w, "ovn-ca", &corev1.ConfigMap{}).ResourceVersion + w.pki().ResourceVersion; after != before {
		t.Error("something was written although nothing has changed")
	}
	if err := w.api.Delete(t.Context(), w.pki()); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if w.gauges() != 0 {
		t.Error("the metric still names what was deleted")
	}
}

func TestTheStatusShowsTheProgressOfARotation(t *testing.T) {
	w := newCluster(t, "", quick().Spec)
	for _, step := range []struct {
		at             time.Duration
		rotating       metav1.ConditionStatus
		reason, event  string
		again          time.Duration
		trusted, leafs int32
	}{
		{0, metav1.ConditionFalse, "AsExpected", "AuthorityMade", resyncInterval, 1, 1},
		{50 * time.Hour, metav1.ConditionFalse, "AsExpected", "CertificateIssued", resyncInterval, 1, 2},
		{500*time.Hour - 20*time.Second, metav1.ConditionFalse, "AsExpected", "", 20 * time.Second, 1, 3},
		{500 * time.Hour, metav1.ConditionTrue, "SuccessorTrusted", "SuccessorTrusted", resyncInterval, 2, 3},
		{510 * time.Hour, metav1.ConditionTrue, "PredecessorTrusted", "SuccessorSigns", resyncInterval, 2, 4},
		{1001 * time.Hour, metav1.ConditionTrue, "SuccessorTrusted", "AuthorityForgotten", resyncInterval, 2, 5},
	} {
		w.now = start.Add(step.at)
		again := w.reconcile().RequeueAfter
		w.wantCondition(networkv1.ConditionRotating, step.rotating, step.reason, "")
		if step.event != "" && !w.hasEvent(step.event) {
			t.Errorf("after %s there is no event %s", step.at, step.event)
		}
		if got := w.pki().Status.Trusted; got != step.trusted {
			t.Errorf("after %s %d are trusted, want %d", step.at, got, step.trusted)
		}
		if again != step.again {
			t.Errorf("after %s the next look is in %s, want %s", step.at, again, step.again)
		}
	}
}

// errKilled is the error of a write of a killed process.
var errKilled = errors.New("killed")

// killedAt returns a client whose process is killed before or after its n-th write.
func killedAt(c client.Client, n int, after bool) client.Client {
	var mu sync.Mutex
	dead := false
	do := func(write func() error) error {
		mu.Lock()
		defer mu.Unlock()
		n--
		if dead || n == 0 && !after {
			dead = true
			return errKilled
		}
		err := write()
		if n == 0 {
			dead = true
			return errKilled
		}
		return err
	}
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return do(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return do(func() error { return c.Update(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return do(func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

func TestKilledOperatorContinuesTheRotation(t *testing.T) {
	server := apitest.Shared(t)
	watching, err := client.NewWithWatch(server.Config, client.Options{Scheme: server.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := newCluster(t, "", quick().Spec)
	n := 0
	for _, at := range []time.Duration{0, 50, 500, 510, 1000, 1010} {
		w.now = start.Add(at * time.Hour)
		for kill := 1; kill <= 8; kill++ {
			w.fresh(killedAt(watching, kill, n%2 == 0))
			if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key}); err != nil {
				n++
			}
		}
		w.fresh(server.Client)
		w.reconcile()
		w.wantCondition(networkv1.ConditionReady, metav1.ConditionTrue, "AsExpected", "")
		leaf, _, err := pairOf(get(w, "ovn-cert", &corev1.Secret{}).Data).Parse()
		if err != nil || !certs.Salvage([]byte(get(w, "ovn-ca", &corev1.ConfigMap{}).Data[bundleKey])).Trusts(leaf, w.now) {
			t.Fatalf("after %d hours: the certificate is not trusted: %v", at, err)
		}
	}
	if n < 8 {
		t.Errorf("the operator was killed %d times only", n)
	}
}

func TestObjectsOfOthersAreNotModified(t *testing.T) {
	w := newCluster(t, "", quick().Spec)
	fromOpenShift := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "ovn-cert"}, Data: map[string][]byte{"password": []byte("x")}}
	if err := w.api.Create(t.Context(), fromOpenShift); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	w.wantCondition(networkv1.ConditionReady, metav1.ConditionFalse, "NameTaken", "Secret ovn-cert was not created by the operator")
	if got := get(w, "ovn-cert", &corev1.Secret{}); string(got.Data["password"]) != "x" || len(got.Data) != 1 {
		t.Error("it was changed")
	}
	if len(w.findings) > 0 {
		t.Errorf("a user's mistake affects the cluster: %v", w.findings)
	}
	if !w.hasEvent("NameTaken") {
		t.Error("there is no event")
	}
	if err := w.api.Delete(t.Context(), fromOpenShift); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	w.wantCondition(networkv1.ConditionReady, metav1.ConditionTrue, "AsExpected", "")
}

func TestFailuresOfTheClusterAreReportedAndRemoved(t *testing.T) {
	w := newCluster(t, "openshift-pki-test", quick().Spec)
	w.reconcile()
	yes := true
	secret := get(w, "ovn-cert", &corev1.Secret{})
	secret.Immutable = &yes
	if err := w.api.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.now = start.Add(50 * time.Hour)
	if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: w.key}); err == nil {
		t.Fatal("an immutable Secret was written")
	}
	w.wantCondition(networkv1.ConditionReady, metav1.ConditionFalse, "PKIError", "immutable")
	if len(w.findings) != 1 || w.findings[0].Component != "PKIConfig" || w.findings[0].Reason != "PKIError" || !strings.Contains(w.findings[0].Message, "openshift-pki-test/ovn") {
		t.Errorf("findings are %+v", w.findings)
	}
	if err := w.api.Delete(t.Context(), w.pki()); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if len(w.findings) > 0 {
		t.Errorf("the failure of a deleted OperatorPKI stays: %v", w.findings)
	}
}

// TestThePermissionForSecretsIsWhereAnOperatorPKIIs runs the controller with the shipped permissions: none for Secrets, and one to grant
// itself that permission.
func TestThePermissionForSecretsIsWhereAnOperatorPKIIs(t *testing.T) {
	server := apitest.Shared(t)
	const own = "openshift-network-operator"
	if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	config := server.ServiceAccount(t, own, "cluster-network-operator")
	for _, o := range shipped(t) {
		server.Create(t, o)
	}
	w := newCluster(t, "", quick().Spec)
	limited, err := client.New(config, client.Options{Scheme: server.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := limited.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: "ovn-ca"}, &corev1.Secret{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the operator may read Secrets: %v", err)
	}
	w.fresh(limited)
	w.Now = time.Now
	w.events = events.NewFakeRecorder(1000)
	deadline := time.Now().Add(time.Minute)
	for w.reconcile().RequeueAfter < time.Second {
		if time.Now().After(deadline) {
			t.Fatal("the right never came")
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.wantCondition(networkv1.ConditionReady, metav1.ConditionTrue, "AsExpected", "")
	if err := limited.List(t.Context(), &corev1.SecretList{}, client.InNamespace(w.key.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("the operator may list the Secrets of a user: %v", err)
	}
	second := &networkv1.OperatorPKI{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: "other"}, Spec: quick().Spec}
	if err := w.api.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	w.key.Name = "other"
	w.reconcile()
	if binding := get(w, roleName, &rbacv1.RoleBinding{}); len(binding.OwnerReferences) != 2 {
		t.Errorf("the permission is removed with one of two: %v", binding.OwnerReferences)
	}
}
