package preview_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// During a rollout, the operator replaces fewer pods at once than it has rendered. That is no drift; the same edit by another
// client is.
func TestPacedRolloutIsNoDrift(t *testing.T) {
	for manager, drift := range map[string]bool{network.FieldManager: false, "kubectl-edit": true} {
		p := pipeline.Pipeline{Registry: networks.Registry()}
		in, problems, err := offline.Files{Stdin: strings.NewReader(inUse)}.Configuration([]string{"-"})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		known := facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v1", Images: facts.Images{"": "${%s}"}, APIServer: facts.HostPort{Host: "h", Port: 6443}}
		filled, err := p.Run(t.Context(), pipeline.Input{Desired: &in.Network.Spec, Cluster: known}, pipeline.Fill)
		if err != nil {
			t.Fatal(err)
		}
		w, err := preview.Offline(t.Context(), p, pipeline.Input{Applied: filled.Spec, Cluster: known})
		if err != nil {
			t.Fatal(err)
		}
		lookup, changed := w.Lookup, 0
		w.Lookup = func(ctx context.Context, refs []apply.Ref) (plan.Lookup, error) {
			live, err := lookup(ctx, refs)
			return func(k manifest.Key) (*unstructured.Unstructured, bool) {
				o, ok := live(k)
				if !ok || k.Kind != "DaemonSet" || k.Name != "openshift-kube-proxy" {
					return o, ok
				}
				o = o.DeepCopy()
				changed++
				if err := unstructured.SetNestedField(o.Object, int64(1), "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"); err != nil {
					t.Error(err)
				}
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:updateStrategy":{}}}`)}})
				return o, true
			}, err
		}
		a, err := preview.Run(t.Context(), p, in, w)
		if err != nil {
			t.Fatal(err)
		}
		if changed == 0 || a.Decision != preview.Unchanged || (len(a.Objects) > 0) != drift || strings.Contains(strings.Join(a.Notes, " "), "paces its rollout") == drift {
			t.Errorf("%s: decision %s, objects %+v, notes %q", manager, a.Decision, a.Objects, a.Notes)
		}
	}
}
