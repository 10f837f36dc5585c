package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// network returns as many objects as a large network has, a few of which are large.
func network(tb testing.TB, n int) []manifest.Object {
	var objects []manifest.Object
	for i := range n {
		text := configMap
		if i%3 == 0 {
			text = daemonSetWith(40)
		}
		o := parse(tb, text)
		o.Object.SetName(fmt.Sprint("object-", i))
		objects = append(objects, o)
	}
	return objects
}

// daemonSetWith returns a DaemonSet with a number of environment variables and mounts.
func daemonSetWith(n int) string {
	var env, mounts []string
	for i := range n {
		env = append(env, fmt.Sprintf("{name: E%d, value: %q}", i, strings.Repeat("x", 40)))
		mounts = append(mounts, fmt.Sprintf("{name: v, mountPath: /m/%d}", i))
	}
	return fmt.Sprintf(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: ns}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
		spec: {containers: [{name: c, image: i, env: [%s], volumeMounts: [%s]}]}}}}`, strings.Join(env, ", "), strings.Join(mounts, ", "))
}

// BenchmarkPlanUnchanged is what each reconcile of a converged cluster costs: 150 objects, as many as the operator
// that OpenShift ships has, which sends a request for each of them.
func BenchmarkPlanUnchanged(b *testing.B) {
	objects := network(b, 150)
	c, inventory := applied(b, objects...)
	b.ReportAllocs()
	for b.Loop() {
		if p, err := Make(Input{Desired: objects, Live: c.live, Inventory: inventory}); err != nil || len(p.Pending()) != 0 {
			b.Fatal(p, err)
		}
	}
}

func TestPlanOfAnUnchangedClusterIsCheap(t *testing.T) {
	// Memory stands for time here, which depends on the machine: BenchmarkPlanUnchanged measures that.
	objects := network(t, 150)
	c, inventory := applied(t, objects...)
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := Make(Input{Desired: objects, Live: c.live, Inventory: inventory}); err != nil {
			t.Fatal(err)
		}
	})
	if most := 40.0 * 150; allocations > most {
		t.Errorf("%g allocations for 150 objects, want at most %g", allocations, most)
	}
}
