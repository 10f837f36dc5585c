package preprovisioningimage

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/dayone/imageserver"
	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
)

// failing is a server that cannot build images now.
type failing struct{ Server }

func (failing) Offer(imageserver.Offer) (imageserver.Offered, error) {
	return imageserver.Offered{}, errors.New("no memory")
}

// imageWith is a PreprovisioningImage with a specification.
func imageWith(name string, spec any) client.Object {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(preprovisioning.Kind)
	o.SetNamespace("ns")
	o.SetName(name)
	return o
}

// An object that cannot be read is not tried again until it changes; the others are.
func TestUnreadableObjectDoesNotPreventRetriesOfOthers(t *testing.T) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, preprovisioning.Kind.GroupVersion())
	scheme.AddKnownTypeWithName(preprovisioning.Kind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(preprovisioning.Kind.GroupVersion().WithKind(preprovisioning.Kind.Kind+"List"), &unstructured.UnstructuredList{})
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	unreadable, valid := imageWith("unreadable", "text"), imageWith("valid", map[string]any{"acceptFormats": []any{string(preprovisioning.ISO)}})
	for _, row := range []struct {
		why          string
		objects      []client.Object
		requeueAfter bool
	}{
		{"only one that cannot be read", []client.Object{unreadable}, false},
		{"one beside it fails", []client.Object{unreadable, valid}, true},
	} {
		api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(row.objects...).Build()
		l := &loop{
			Settings: Settings{Offering: preprovisioning.Offering{Formats: []preprovisioning.Format{preprovisioning.ISO}}, Interval: time.Minute}, server: failing{}, api: api, live: api,
			term: &term{}, metrics: m, now: time.Now, log: slog.New(slog.DiscardHandler),
		}
		_, err := l.reconcile(t.Context(), reconcile.Request{})
		if requeueAfter := err != nil && !errors.Is(err, reconcile.TerminalError(nil)); requeueAfter != row.requeueAfter {
			t.Errorf("%s: tried again: %v (%v)", row.why, requeueAfter, err)
		}
	}
}
