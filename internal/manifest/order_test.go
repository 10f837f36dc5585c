package manifest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(apiVersion, kind, name string) Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	return Object{Object: u}
}

func TestObjectsComeAfterWhatTheyNeed(t *testing.T) {
	wanted := []Object{
		object("v1", "Namespace", "ns"),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crd"),
		object("scheduling.k8s.io/v1", "PriorityClass", "pc"),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "b"),
		object("rbac.authorization.k8s.io/v1", "Role", "a"), // b stays before a: the sort is stable
		object("rbac.authorization.k8s.io/v1", "RoleBinding", "rb"),
		object("v1", "ServiceAccount", "sa"),
		object("v1", "Secret", "s"),
		object("v1", "ConfigMap", "cm"),
		object("networking.k8s.io/v1", "NetworkPolicy", "np"),
		object("v1", "Service", "svc"),
		object("apps/v1", "DaemonSet", "ds"),
		object("example.com/v1", "Foo", "cr"),
		object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "vap"),
		object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "vapb"),
		object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "vwc"),
	}
	// Turned by pairs, so that b still comes before a.
	var given []Object
	for i := len(wanted) - 1; i >= 0; i-- {
		given = append(given, wanted[i])
	}
	swap(given, "a", "b")
	swap(given, "s", "cm")
	swap(given, "vapb", "vwc")
	if diff := cmp.Diff(names(wanted), names(Sorted(given))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if given[0].Object.GetName() == "ns" {
		t.Error("Sorted changed its argument")
	}
}

func swap(objs []Object, a, b string) {
	at := map[string]int{}
	for i, o := range objs {
		at[o.Object.GetName()] = i
	}
	objs[at[a]], objs[at[b]] = objs[at[b]], objs[at[a]]
}

func names(objs []Object) []string {
	var out []string
	for _, o := range objs {
		out = append(out, o.Object.GetName())
	}
	return out
}

func TestSortIsStableWithinARank(t *testing.T) {
	given := []Object{object("v1", "ConfigMap", "z"), object("v1", "Namespace", "n"), object("v1", "Secret", "a"), object("v1", "ConfigMap", "b")}
	if got := strings.Join(names(Sorted(given)), " "); got != "n z a b" {
		t.Errorf("got %s", got)
	}
}

func TestEncodeIsTheSameEachTime(t *testing.T) {
	cm, err := New(&corev1.ConfigMap{ObjectMeta: meta("x"), Data: map[string]string{"b": "2", "a": "1\n2\n"}}, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Encode([]Object{cm, object("v1", "Namespace", "ns")})
	if err != nil {
		t.Fatal(err)
	}
	const want = `---
apiVersion: v1
data:
  a: |
    1
    2
  b: "2"
kind: ConfigMap
metadata:
  name: x
  namespace: ns
---
apiVersion: v1
kind: Namespace
metadata:
  name: ns
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	back, err := DecodeAll(file(string(got)), "a.yaml")
	if err != nil || len(back) != 2 {
		t.Errorf("does not round-trip: %v, %v", back, err)
	}
}

func TestHashDistinguishesContents(t *testing.T) {
	with := func(spec any) Object {
		o := object("example.com/v1", "Foo", "x")
		o.Object.Object["spec"] = spec
		return o
	}
	seen := map[string]any{}
	for _, spec := range []any{
		nil, "", "1", int64(1), true, false, 1.5, []any{}, map[string]any{}, []any{"a", "b"}, []any{"ab"}, []any{"b", "a"},
		map[string]any{"a": "b"}, map[string]any{"a": map[string]any{"b": ""}}, []any{[]any{"a"}, "b"}, []any{[]any{"a", "b"}}, []any{nil},
		int64(-1), map[string]any{"a": nil},
	} {
		h := Hash(with(spec))
		if other, ok := seen[h]; ok {
			t.Errorf("%#v and %#v have one hash", spec, other)
		}
		seen[h] = spec
	}
	if Hash(with(int64(1))) != Hash(with(float64(1))) {
		t.Error("1 read from JSON and 1 made in Go differ")
	}
	if got, want := Hash(with("a")), Hash(with("a")); got != want || len(got) != 32 {
		t.Errorf("got %s, then %s", got, want)
	}
}

func TestHashIsTheSameInEveryRelease(t *testing.T) {
	// Another value here makes every operator that is upgraded apply every object once more.
	if got, want := Hash(object("v1", "Namespace", "ns")), "34305bd1994201ac88609c02881f0eae"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStampLabelsObjects(t *testing.T) {
	ds, cm := object("apps/v1", "DaemonSet", "x"), object("v1", "ConfigMap", "x")
	cm.Object.SetLabels(map[string]string{"own": "label"})
	Stamp(ds, "Flannel", "v1.2.3")
	Stamp(cm, "Flannel", "v1.2.3")
	if got := ds.Object.GetAnnotations()[AnnotationVersion]; got != "v1.2.3" {
		t.Errorf("the workload has version %q", got)
	}
	if got := cm.Object.GetAnnotations(); got != nil {
		t.Errorf("the version of the operator would rewrite an object that does not run: %v", got)
	}
	want := map[string]string{"own": "label", LabelManagedBy: ManagedBy, LabelComponent: "Flannel"}
	if diff := cmp.Diff(want, cm.Object.GetLabels()); diff != "" {
		t.Error(diff)
	}
}

func TestKeyNamesOneObject(t *testing.T) {
	o, err := New(&rbacv1.Role{ObjectMeta: meta("x")}, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if got := o.Key().String(); got != "Role ns/x" {
		t.Errorf("got %q", got)
	}
	cluster, err := New(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if got := cluster.Key().String(); got != "ClusterRole x" {
		t.Errorf("got %q", got)
	}
	if o.Key().Compare(cluster.Key()) <= 0 || cluster.Key().Compare(o.Key()) >= 0 || o.Key().Compare(o.Key()) != 0 {
		t.Error("keys are not ordered")
	}
}
