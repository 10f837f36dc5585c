package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// damage damages an object, and returns a function that recognizes the repaired one.
type damage func(b *testing.B, o *unstructured.Unstructured) (repaired func(*unstructured.Unstructured) bool)

// restored is from the damage until the object is as it was. All operands take their turns.
//
// No object is harmed more than twice a minute: what is changed five times within one counts as a fight between two
// clients, which is repaired with back-off.
func (c *cluster) restored(b *testing.B, harm damage) {
	operands := c.operands(b)
	const apart = 30 * time.Second
	harmed := map[manifest.Key]time.Time{}
	var took, floor times
	for b.Loop() {
		for i := range *samples {
			entry := operands[i%len(operands)]
			s := c.watch(b, entry.Key.GroupKind().WithVersion(entry.Version), client.ObjectKey{Namespace: entry.Key.Namespace, Name: entry.Key.Name})
			time.Sleep(time.Until(harmed[entry.Key].Add(apart)))
			floor = append(floor, c.write(b))
			start := time.Now()
			harmed[entry.Key] = start
			repaired := harm(b, s.now)
			took = append(took, s.until(b, entry.Key.String()+" is as it was", repaired).Sub(start))
			s.stop()
			c.settled(b)
		}
	}
	floor.reportFloor(b)
	took.report(b, 200, peer.restored)
}

// operands returns what the operator has applied, namespaces aside: without the controller that empties them, they
// cannot be deleted.
func (c *cluster) operands(b *testing.B) plan.Inventory {
	b.Helper()
	cm := &corev1.ConfigMap{}
	if err := c.Client.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: plan.InventoryName}, cm); err != nil {
		b.Fatal(err)
	}
	all, err := plan.DecodeInventory(cm.Data)
	if err != nil {
		b.Fatal(err)
	}
	var kept plan.Inventory
	for _, entry := range all {
		if entry.Key.Kind != "Namespace" {
			kept = append(kept, entry)
		}
	}
	return kept
}

func (c *cluster) deleteOperand(b *testing.B, o *unstructured.Unstructured) func(*unstructured.Unstructured) bool {
	b.Helper()
	if err := c.Client.Delete(b.Context(), o.DeepCopy()); err != nil {
		b.Fatal(err)
	}
	return func(now *unstructured.Unstructured) bool {
		return now.GetUID() != o.GetUID() && cmp.Equal(content(now), content(o))
	}
}

// editOperand changes what the object is for, or removes the label by which it is known to be the operator's.
func (c *cluster) editOperand(b *testing.B, o *unstructured.Unstructured) func(*unstructured.Unstructured) bool {
	b.Helper()
	edits := map[string]string{
		"ConfigMap":          `{"data":null}`,
		"DaemonSet":          `{"spec":{"template":{"spec":{"hostNetwork":false}}}}`,
		"ClusterRole":        `{"rules":[]}`,
		"ClusterRoleBinding": `{"subjects":[]}`,
	}
	edit, known := edits[o.GetKind()]
	if !known {
		edit = `{"metadata":{"labels":{"` + manifest.LabelComponent + `":"Edited"}}}`
	}
	edited := o.DeepCopy()
	if err := c.Client.Patch(b.Context(), edited, client.RawPatch("application/merge-patch+json", []byte(edit))); err != nil {
		b.Fatal(err)
	}
	if cmp.Equal(content(edited), content(o)) {
		b.Fatalf("the edit of %s %s changes nothing", o.GetKind(), o.GetName())
	}
	return func(now *unstructured.Unstructured) bool { return cmp.Equal(content(now), content(o)) }
}

// content is what an operator can restore of an object.
func content(o *unstructured.Unstructured) map[string]any {
	all := map[string]any{"labels": o.GetLabels()}
	for name, value := range o.Object {
		if name != "metadata" && name != "status" {
			all[name] = value
		}
	}
	return all
}
