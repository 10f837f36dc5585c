package tlsprofile

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{"apiservers.config.openshift.io"}})
}

// newController is the controller of an operator that was started with some settings.
func newController(r client.Reader, started tlsprofile.Settings) (c *Controller, restarted *int) {
	restarted = new(int)
	return &Controller{Client: r, Started: started, Restart: func() { *restarted++ }, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler)}, restarted
}

func reconcileOnce(t *testing.T, c *Controller) {
	t.Helper()
	if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
}

func TestOperatorRestartsOnlyWhenTheSettingsChange(t *testing.T) {
	server := apitest.Shared(t)
	started, err := Read(t.Context(), server.Client)
	if err != nil || !started.IsZero() {
		t.Fatalf("without an APIServer: got %+v, %v", started, err)
	}
	c, restarted := newController(server.Client, started)
	reconcileOnce(t, c)
	o := &configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	server.Create(t, o)
	reconcileOnce(t, c)
	o.Spec.Audit.Profile = configv1.NoneAuditProfileType
	change(t, server, o)
	reconcileOnce(t, c)
	if *restarted != 0 {
		t.Errorf("restarted %d times over what has nothing to do with TLS", *restarted)
	}
	o.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType, Modern: &configv1.ModernTLSProfile{}}
	change(t, server, o)
	reconcileOnce(t, c)
	if *restarted != 1 {
		t.Errorf("restarted %d times after a change, want 1", *restarted)
	}
	now, err := Read(t.Context(), server.Client)
	if err != nil {
		t.Fatal(err)
	}
	c, restarted = newController(server.Client, now)
	reconcileOnce(t, c)
	if *restarted != 0 || now.MinVersion != "VersionTLS13" {
		t.Errorf("the next operator has %s and restarts %d times", now.MinVersion, *restarted)
	}
}

func TestUnusableProfileIsNamedAndNothingStops(t *testing.T) {
	server := apitest.Shared(t)
	o := &configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	o.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
		TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: configv1.VersionTLS12, Ciphers: []string{"DES-CBC3-SHA"}}}}
	server.Create(t, o)
	settings, err := Read(t.Context(), server.Client)
	if err != nil {
		t.Fatal(err)
	}
	c, restarted := newController(server.Client, settings)
	reconcileOnce(t, c)
	found, _, _ := c.Board.Snapshot()
	if len(found) != 1 || !found[0].Aside || found[0].Reason != "NoUsableCipher" || *restarted != 0 {
		t.Errorf("got %+v and %d restarts", found, *restarted)
	}
	o.Spec.TLSSecurityProfile = nil
	change(t, server, o)
	reconcileOnce(t, c)
	if found, _, _ := c.Board.Snapshot(); len(found) != 0 {
		t.Errorf("after it is resolved there is still %+v", found)
	}
}

func TestUnreadableProfileStopsNothing(t *testing.T) {
	for why, spec := range map[string]string{
		"adherence is no word":   `{"tlsAdherence": 1}`,
		"profile is no object":   `{"tlsSecurityProfile": "Modern"}`,
		"ciphers are not a list": `{"tlsSecurityProfile": {"type": "Custom", "custom": {"ciphers": "x"}}}`,
	} {
		c, restarted := newController(serving(t, spec), tlsprofile.Settings{})
		if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err == nil || *restarted != 0 {
			t.Errorf("%s: got error %v and %d restarts", why, err, *restarted)
		}
	}
}

func TestAdherenceOfNewerClustersCounts(t *testing.T) {
	for spec, want := range map[string]string{
		`{"tlsSecurityProfile": {"type": "Modern"}}`:                                                 "VersionTLS13",
		`{"tlsSecurityProfile": {"type": "Modern"}, "tlsAdherence": "LegacyAdheringComponentsOnly"}`: "",
		`{"tlsSecurityProfile": {"type": "Modern"}, "tlsAdherence": "StrictAllComponents"}`:          "VersionTLS13",
		`{"tlsAdherence": "StrictAllComponents"}`:                                                    "VersionTLS12",
		`{"tlsSecurityProfile": null}`:                                                               "",
	} {
		got, err := Read(t.Context(), serving(t, spec))
		if err != nil || got.MinVersion != want {
			t.Errorf("%s: got %q, %v, want %q", spec, got.MinVersion, err, want)
		}
	}
}

// serving is a reader of an APIServer whose API is newer, or broken.
func serving(t *testing.T, spec string) client.Reader {
	t.Helper()
	var decoded any
	if err := json.Unmarshal([]byte(spec), &decoded); err != nil {
		t.Fatal(err)
	}
	return answer{map[string]any{"spec": decoded}}
}

// answer answers every read with the same fields.
type answer struct{ fields map[string]any }

func (a answer) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.(*unstructured.Unstructured).Object["spec"] = a.fields["spec"]
	return nil
}

func (answer) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func change(t *testing.T, server *apitest.Server, o client.Object) {
	t.Helper()
	if err := server.Client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}
