package apply_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// BenchmarkOneChangedObject is from a changed object of 150 to its being applied, against a real API server, with a
// cache as the operator has it. The operator that OpenShift ships takes 28 s for it.
func BenchmarkOneChangedObject(b *testing.B) {
	c := newCluster(b)
	objects := c.objects(aNamespaceNamed)
	for i := range 149 {
		o := c.objects(`{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: NAME}, data: {a: "0"}}`)[0]
		o.Object.SetName(fmt.Sprint("config-", i))
		objects = append(objects, o)
	}
	c.apply(objects)
	inventory := c.plan(objects).Inventory
	cache := c.cache(objects)
	changed := objects[len(objects)-1]
	for n := 0; b.Loop(); n++ {
		changed.Object.Object["data"] = map[string]any{"a": fmt.Sprint("value ", n)}
		p, err := plan.Make(plan.Input{Desired: objects, Live: cache, Inventory: inventory})
		if err != nil {
			b.Fatal(err)
		}
		if result, err := c.executor.Execute(b.Context(), p); err != nil || len(result.Outcomes) != 1 {
			b.Fatal(result, err)
		}
	}
}

// BenchmarkInstall is from an empty cluster to one of each kind that is rendered, twenty objects, against a real API
// server.
func BenchmarkInstall(b *testing.B) {
	for b.Loop() {
		c := newCluster(b)
		c.apply(c.rich())
	}
}

const aNamespaceNamed = "{apiVersion: v1, kind: Namespace, metadata: {name: NAME}}"

// cache returns a lookup that has everything in memory.
func (c *cluster) cache(objects []manifest.Object) plan.Lookup {
	existing := map[manifest.Key]*unstructured.Unstructured{}
	for _, o := range objects {
		if live, ok := c.live(o.Key()); ok {
			existing[o.Key()] = live
		}
	}
	return func(key manifest.Key) (*unstructured.Unstructured, bool) {
		o, ok := existing[key]
		return o, ok
	}
}
