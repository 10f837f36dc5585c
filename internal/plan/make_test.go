package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// parse returns an object written as YAML, labelled as the operator's.
func parse(t testing.TB, text string) manifest.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	o, err := manifest.New(u, manifest.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	manifest.Stamp(o, "Test", "v1")
	return o
}

// cluster has the existing objects.
type cluster map[manifest.Key]*unstructured.Unstructured

func (c cluster) live(key manifest.Key) (*unstructured.Unstructured, bool) {
	o, ok := c[key]
	return o, ok
}

// applied returns a cluster in which objects were applied, and the inventory of them.
func applied(t testing.TB, objects ...manifest.Object) (cluster, Inventory) {
	t.Helper()
	c := cluster{}
	p, err := Make(Input{Desired: objects, Live: c.live})
	if err != nil {
		t.Fatal(err)
	}
	done := map[manifest.Key]Done{}
	for i, a := range p.Actions {
		live := a.Wanted()
		live.SetUID(types.UID(fmt.Sprint("uid-", i)))
		c[a.Key] = live
		done[a.Key] = Done{UID: live.GetUID()}
	}
	return c, p.After(done)
}

const (
	configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}, data: {a: b}}"
	daemonSet = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: ns}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}"
	namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"
	crd       = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Cluster, names: {kind: Foo, plural: foos}, versions: []}}"
	foo       = "{apiVersion: example.com/v1, kind: Foo, metadata: {name: f}}"
)

// verbs returns "verb kind" of each action.
func verbs(p Plan) []string {
	var out []string
	for _, a := range p.Actions {
		out = append(out, string(a.Verb)+" "+a.Key.Kind)
	}
	return out
}

func TestPlan(t *testing.T) {
	deleting := func(o *unstructured.Unstructured) { now := metav1.Now(); o.SetDeletionTimestamp(&now) }
	never := func(schema.GroupKind) bool { return false }
	for _, tc := range []struct {
		name     string
		existing []string // applied before
		wanted   []string
		change   func(cluster, *Input)
		want     []string
		because  string
	}{
		{"a fresh cluster gets everything, by rank", nil, []string{daemonSet, configMap, namespace}, nil,
			[]string{"create Namespace", "create ConfigMap", "create DaemonSet"}, "it does not exist"},
		{"what is as wanted is not changed", []string{daemonSet, namespace}, []string{daemonSet, namespace}, nil,
			[]string{"none Namespace", "none DaemonSet"}, "2 objects are as wanted"},
		{"a changed value is applied", []string{configMap}, []string{strings.Replace(configMap, "a: b", "a: c", 1)}, nil,
			[]string{"apply ConfigMap"}, "data.a: b -> c"},
		{"a removed value is applied, although all desired values are live", []string{strings.Replace(configMap, "a: b", "a: b, c: d", 1)}, []string{configMap}, nil,
			[]string{"apply ConfigMap"}, "not wanted any more"},
		{"a create-only object is created", nil, []string{configMap}, func(_ cluster, in *Input) { in.Desired[0].Policy.CreateOnly = true },
			[]string{"create ConfigMap"}, ""},
		{"and never changed", []string{configMap}, []string{strings.Replace(configMap, "a: b", "a: c", 1)},
			func(_ cluster, in *Input) { in.Desired[0].Policy.CreateOnly = true }, []string{"none ConfigMap"}, ""},
		{"an API that is not available is an error", nil, []string{foo, namespace}, func(_ cluster, in *Input) {
			in.Serves = func(gk schema.GroupKind) bool { return gk.Kind != "Foo" }
		}, []string{"create Namespace", "blocked Foo"}, "the API server does not serve Foo in example.com/v1"},
		{"unless it may be missing", nil, []string{foo}, func(_ cluster, in *Input) { in.Serves = never; in.Desired[0].Policy.IgnoreMissingKind = true },
			[]string{"skip Foo"}, "does not serve"},
		{"a kind that the same plan defines will be served", nil, []string{foo, crd}, func(_ cluster, in *Input) {
			in.Serves = func(gk schema.GroupKind) bool { return gk.Kind != "Foo" }
		}, []string{"create CustomResourceDefinition", "create Foo"}, ""},
		{"an object that is being deleted must be deleted first, and the plan names its finalizers", []string{namespace}, []string{namespace}, func(c cluster, _ *Input) {
			o := c[manifest.Key{Kind: "Namespace", Name: "ns"}]
			deleting(o)
			o.SetFinalizers([]string{"example.com/mine"})
			o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "NamespaceContentRemaining", "status": "True", "message": "pods. has 1 resource instances"}}}
		}, []string{"blocked Namespace"}, "it is being deleted; blocked by: pods. has 1 resource instances; finalizers example.com/mine"},
		{"what is no longer rendered is deleted, namespaces last", []string{daemonSet, namespace, configMap}, nil, nil,
			[]string{"delete DaemonSet", "delete ConfigMap", "delete Namespace"}, "it is not rendered any more"},
		{"but not while rendering waits for something", []string{configMap}, nil, func(_ cluster, in *Input) { in.Incomplete = "waiting for nodes" },
			[]string{"keep ConfigMap"}, "waiting for nodes"},
		{"nor while a workload is still to be changed", []string{configMap}, []string{daemonSet}, nil,
			[]string{"create DaemonSet", "keep ConfigMap"}, "DaemonSet ns/d: it is to be created"},
		{"nor while one does not work", []string{configMap, daemonSet}, []string{daemonSet}, func(c cluster, _ *Input) {
			c[manifest.Key{Group: "apps", Kind: "DaemonSet", Namespace: "ns", Name: "d"}].Object["status"] = map[string]any{
				"desiredNumberScheduled": int64(3), "updatedNumberScheduled": int64(3), "numberAvailable": int64(2)}
		}, []string{"none DaemonSet", "keep ConfigMap"}, "DaemonSet ns/d: 2 of 3 pods are available"},
		{"a workload that is not critical blocks nothing", []string{configMap}, []string{daemonSet}, func(_ cluster, in *Input) { in.Desired[0].Policy.NonCritical = true },
			[]string{"create DaemonSet", "delete ConfigMap"}, ""},
		{"what has lost the operator's label is no one's to delete", []string{configMap}, nil, func(c cluster, _ *Input) {
			c[manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}].SetLabels(nil)
		}, []string{"keep ConfigMap"}, "does not have the operator's label"},
		{"what existed before the operator is kept", []string{configMap}, nil, func(_ cluster, in *Input) { in.Inventory[0].Adopted = true },
			[]string{"keep ConfigMap"}, "it existed before"},
		{"a definition that is used stays", []string{crd}, nil, func(_ cluster, in *Input) { in.InUse = func(*unstructured.Unstructured) bool { return true } },
			[]string{"keep CustomResourceDefinition"}, "there are objects of kind Foo"},
		{"an unused one is deleted", []string{crd}, nil, func(_ cluster, in *Input) { in.InUse = func(*unstructured.Unstructured) bool { return false } },
			[]string{"delete CustomResourceDefinition"}, ""},
		{"a namespace that holds something wanted stays", []string{namespace, configMap}, []string{configMap}, nil,
			[]string{"none ConfigMap", "keep Namespace"}, "it still holds ConfigMap ns/c"},
		{"what is being deleted already needs nothing", []string{configMap}, nil, func(c cluster, _ *Input) { deleting(c[manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}]) },
			nil, ""},
		{"what was applied and is not seen is read before it is dropped", []string{configMap}, nil,
			func(c cluster, _ *Input) { delete(c, manifest.Key{Kind: "ConfigMap", Namespace: "ns", Name: "c"}) }, []string{"delete ConfigMap"}, "was not seen"},
		{"an object of another client is taken over", nil, []string{configMap}, func(c cluster, in *Input) {
			o := in.Desired[0].Object.DeepCopy()
			o.SetLabels(map[string]string{manifest.LabelManagedBy: "Helm"})
			c[in.Desired[0].Key()] = o
		}, []string{"apply ConfigMap"}, "it existed before, without the operator's label"},
		{"our own object without its label is ours still", []string{configMap}, []string{configMap}, func(c cluster, in *Input) { c[in.Desired[0].Key()].SetLabels(nil) },
			[]string{"apply ConfigMap"}, "apply ConfigMap ns/c: metadata.labels: missing"},
		{"a selector cannot be changed", []string{daemonSet}, []string{strings.ReplaceAll(daemonSet, "a: b", "a: c")}, nil,
			[]string{"recreate DaemonSet"}, "spec.selector.matchLabels.a: b -> c"},
		{"nor the scope of a definition, which is not recreated", []string{crd}, []string{strings.Replace(crd, "Cluster,", "Namespaced,", 1)}, nil,
			[]string{"blocked CustomResourceDefinition"}, "would delete all objects"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, inventory := applied(t, parseAll(t, tc.existing)...)
			in := Input{Desired: parseAll(t, tc.wanted), Live: c.live, Inventory: inventory}
			if tc.change != nil {
				tc.change(c, &in)
			}
			p, err := Make(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, verbs(p)); diff != "" {
				t.Errorf("-want +got\n%s%s", diff, p)
			}
			if !strings.Contains(p.String(), tc.because) {
				t.Errorf("want %q in\n%s", tc.because, p)
			}
		})
	}
}

func parseAll(t testing.TB, texts []string) []manifest.Object {
	var objects []manifest.Object
	for _, text := range texts {
		objects = append(objects, parse(t, text))
	}
	return objects
}

func TestConvergedPlanIsEmpty(t *testing.T) {
	objects := parseAll(t, []string{configMap, daemonSet, namespace})
	c, inventory := applied(t, objects...)
	p, err := Make(Input{Desired: objects, Live: c.live, Inventory: inventory})
	if _, more := p.Before(); err != nil || !p.Converged() || more {
		t.Errorf("plan:\n%s%v", p, err)
	}
	// A lost inventory is rebuilt from existing objects.
	p, err = Make(Input{Desired: objects, Live: c.live})
	if err != nil || p.Converged() || !p.After(nil).Equal(inventory) {
		t.Errorf("inventory %v, want %v", p.After(nil), inventory)
	}
}

func TestPlanIsMachineReadable(t *testing.T) {
	c, inventory := applied(t, parse(t, configMap))
	p, err := Make(Input{Desired: parseAll(t, []string{strings.Replace(configMap, "a: b", "a: c", 1)}), Live: c.live, Inventory: inventory})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"actions":[{"verb":"apply","object":{"kind":"ConfigMap","namespace":"ns","name":"c"},"version":"v1","component":"Test","reasons":["data.a: b -\u003e c"],"uid":"uid-0"}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestUnseenObjectIsPlannedAgainOnceSeen(t *testing.T) {
	o := parse(t, configMap)
	p, err := Make(Input{Desired: []manifest.Object{o}, Live: cluster{}.live})
	if err != nil {
		t.Fatal(err)
	}
	foreign := o.Object.DeepCopy()
	foreign.SetLabels(nil)
	if got := p.Actions[0].Seen(foreign, nil); got.Verb != Apply || !got.Adopted {
		t.Errorf("an object of another client: %s", got)
	}
	if got := p.Actions[0].Seen(foreign, Inventory{{Key: o.Key(), Version: "v1"}}); got.Verb != Apply || got.Adopted {
		t.Errorf("ours, without its label: %s", got)
	}
	if got := p.Actions[0].Seen(p.Actions[0].Wanted(), nil); got.Verb != None {
		t.Errorf("ours, as wanted: %s", got)
	}
}

func TestSameObjectTwiceIsAnError(t *testing.T) {
	_, err := Make(Input{Desired: parseAll(t, []string{configMap, configMap}), Live: cluster{}.live})
	if err == nil || !strings.Contains(err.Error(), "ConfigMap ns/c is rendered twice") {
		t.Errorf("got %v", err)
	}
}

func TestMakeDoesNotChangeItsInput(t *testing.T) {
	objects := parseAll(t, []string{configMap, daemonSet})
	c, inventory := applied(t, objects...)
	c[objects[0].Key()].Object["data"] = map[string]any{"a": "other"}
	before := fmt.Sprint(objects[0].Object, c, inventory)
	if _, err := Make(Input{Desired: objects, Live: c.live, Inventory: inventory}); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(objects[0].Object, c, inventory); after != before {
		t.Error(cmp.Diff(before, after))
	}
}
