package pullsecret

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// cluster is an API server, and the controller of an operator there.
type cluster struct {
	*apitest.Server
	*Controller
	t *testing.T
	// exist are the namespaces of operands that exist.
	exist []string
	// changed counts how often workloads got another pull secret.
	changed int
}

// onlyNamed lists the Secrets of the name, as the controller's cache does.
type onlyNamed struct{ client.Client }

func (o onlyNamed) List(ctx context.Context, list client.ObjectList, _ ...client.ListOption) error {
	return o.Client.List(ctx, list, client.MatchingFields{"metadata.name": facts.PullSecretName})
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Server: apitest.Shared(t), t: t, exist: []string{"net-a", "net-b"}}
	for _, name := range []string{"operator", "net-a", "net-b", "net-c", "tenant"} {
		// The API server alone never ends the deletion of a namespace: they are shared, and what is in them is deleted.
		err := c.Server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(c.Server.Client.Delete(context.Background(), credentials(name, ""))); err != nil {
				t.Error(err)
			}
		})
	}
	c.restart()
	return c
}

// restart makes the controller of the next process.
func (c *cluster) restart() {
	c.Controller = &Controller{
		Facts: c.Server.Client, Client: onlyNamed{c.Server.Client}, Namespace: "operator", Namespaces: []string{"net-a", "net-b", "net-c"},
		Exists:  func(namespace string) bool { return slices.Contains(c.exist, namespace) },
		Changed: func() { c.changed++ }, Wake: &trigger.Trigger{}, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler),
	}
}

// reconcile returns the reasons of the findings.
func (c *cluster) reconcile() string {
	c.t.Helper()
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
	found, _, _ := c.Board.Snapshot()
	var reasons []string
	for _, f := range found {
		reasons = append(reasons, f.Reason)
		if strings.Contains(f.Message, "hunter2") {
			c.t.Errorf("the content is in a message: %s", f.Message)
		}
	}
	return strings.Join(reasons, " ")
}

// content returns the credentials in a namespace, "none" without any.
func (c *cluster) content(namespace string) string {
	c.t.Helper()
	var s corev1.Secret
	err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: facts.PullSecretName}, &s)
	if apierrors.IsNotFound(err) {
		return "none"
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return string(s.Data[corev1.DockerConfigJsonKey])
}

// used is the name that workloads are given.
func (c *cluster) used() string {
	c.t.Helper()
	name, err := c.Found(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return name
}

func credentials(namespace, password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: facts.PullSecretName}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{"r":{"password":"` + password + `"}}}`)}}
}

func TestThePullSecretIsCopiedAndRepaired(t *testing.T) {
	c := newCluster(t)
	if got := c.reconcile(); got != "" || c.used() != "" || c.changed != 1 {
		t.Fatalf("without a Secret: findings %q, used %q, %d changes", got, c.used(), c.changed)
	}
	source := credentials("operator", "hunter2")
	c.Create(t, source)
	want := string(source.Data[corev1.DockerConfigJsonKey])
	if got := c.reconcile(); got != "" || c.content("net-a") != want || c.content("net-b") != want || c.content("tenant") != "none" || c.used() != facts.PullSecretName || c.changed != 2 {
		t.Fatalf("findings %q, used %q, %d changes", got, c.used(), c.changed)
	}
	stolen := credentials("net-a", "other")
	stolen.Labels = map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}
	if err := c.Server.Client.Update(t.Context(), stolen); err != nil {
		t.Fatal(err)
	}
	if err := c.Server.Client.Delete(t.Context(), credentials("net-b", "")); err != nil {
		t.Fatal(err)
	}
	if c.reconcile(); c.content("net-a") != want || c.content("net-b") != want {
		t.Error("copies that were edited and deleted are not restored")
	}
	source = credentials("operator", "hunter2-new")
	if err := c.Server.Client.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if c.reconcile(); c.content("net-a") != string(source.Data[corev1.DockerConfigJsonKey]) || c.changed != 2 {
		t.Errorf("new credentials are not copied, or workloads change (%d times) although only the content did", c.changed)
	}
	if err := c.Server.Client.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	c.restart()
	if c.reconcile(); c.content("net-a") != "none" || c.content("net-b") != "none" || c.used() != "" {
		t.Error("the copies outlive the Secret")
	}
}

func TestNewNamespacesGetACopy(t *testing.T) {
	c := newCluster(t)
	c.Create(t, credentials("operator", "hunter2"))
	c.reconcile()
	if c.content("net-c") != "none" {
		t.Error("a namespace that is not known to exist has a copy")
	}
	c.exist = append(c.exist, "net-c")
	if c.reconcile(); c.content("net-c") == "none" {
		t.Error("a namespace that was created later has no copy")
	}
	c.exist = append(c.exist, "net-d")
	c.Namespaces = append(c.Namespaces, "net-d")
	if got := c.reconcile(); got != "" {
		t.Errorf("a namespace that is deleted already is reported: %s", got)
	}
}

func TestUnusableSecretsAreNamed(t *testing.T) {
	for _, row := range []struct {
		why    string
		secret *corev1.Secret
		reason string
		used   string
	}{
		{"of another type", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: facts.PullSecretName}, Type: corev1.SecretTypeOpaque}, reasonInvalid, ""},
		{"another client's in a namespace of operands", credentials("net-b", "own"), reasonTaken, facts.PullSecretName},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			c.Create(t, row.secret)
			if row.secret.Namespace != "operator" {
				c.Create(t, credentials("operator", "hunter2"))
			}
			before := c.content("net-b")
			if got := c.reconcile(); got != row.reason || c.used() != row.used || c.content("net-b") != before {
				t.Errorf("findings %q, want %q; used %q, want %q; net-b has %s", got, row.reason, c.used(), row.used, c.content("net-b"))
			}
		})
	}
}

func TestPublishedNameIsUsedUntilTheSecretIsRead(t *testing.T) {
	c := newCluster(t)
	if c.used() != "" {
		t.Errorf("without anything published: %q", c.used())
	}
	data, err := facts.Cluster{APIServer: facts.HostPort{Host: "h", Port: 1}, PullSecret: facts.PullSecretName}.Publish()
	if err != nil {
		t.Fatal(err)
	}
	c.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: facts.ConfigMapName}, Data: data})
	if c.used() != facts.PullSecretName {
		t.Error("a start of the operator would change all workloads")
	}
	if c.reconcile(); c.used() != "" {
		t.Error("the Secret is deleted, and its name is still used")
	}
}

func TestNothingIsKeptOfSecretsOfTenants(t *testing.T) {
	for _, by := range cacheOptions("operator", []string{"net-a"}) {
		for namespace, want := range map[string]bool{"operator": true, "net-a": true, "tenant": false} {
			kept, err := by.Transform(credentials(namespace, "hunter2"))
			if err != nil {
				t.Fatal(err)
			}
			if has := len(kept.(*corev1.Secret).Data) > 0; has != want {
				t.Errorf("%s: the content is kept: %t", namespace, has)
			}
		}
	}
}
