package apply_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/apply/applytest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// memory is a cluster in memory, in which the operator has a namespace.
func memory(t testing.TB, objects ...*unstructured.Unstructured) (*applytest.Fake, apply.Executor) {
	t.Helper()
	fake := applytest.NewFake(append(objects, object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: operator}}").Object)...)
	return fake, apply.Executor{Client: fake, Namespace: "operator", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), SettleTimeout: time.Second}
}

// object makes an object of its YAML, labelled as the operator's.
func object(t testing.TB, text string) manifest.Object {
	t.Helper()
	return (&cluster{TB: t}).objects(text)[0]
}

func planOf(t testing.TB, fake *applytest.Fake, objects ...manifest.Object) plan.Plan {
	t.Helper()
	inventory, err := readInventory(t.Context(), fake, "operator")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(plan.Input{Desired: objects, Live: fake.Live, Inventory: inventory})
	if err != nil {
		t.Fatal(err)
	}
	fake.Calls()
	return p
}

func calls(fake *applytest.Fake) []string {
	var out []string
	for _, c := range fake.Calls() {
		out = append(out, c.Verb+" "+c.Key.String())
	}
	return out
}

const (
	aNamespace = "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"
	aConfigMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: ns}, data: {a: b}}"
	anotherMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: ns}, data: {a: b}}"
	aDaemonSet = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: ns}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}}"
	aCRD       = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Cluster, names: {kind: Foo, plural: foos}, versions: []}}"
	aFoo       = "{apiVersion: example.com/v1, kind: Foo, metadata: {name: f}}"
)

func TestInventoryIsWrittenFirstAndLast(t *testing.T) {
	fake, executor := memory(t)
	p := planOf(t, fake, object(t, aConfigMap), object(t, aNamespace))
	if _, err := executor.Execute(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	// The order of looking is any.
	want := []string{"apply ConfigMap operator/network-inventory", "apply Namespace ns", "apply ConfigMap ns/c", "apply ConfigMap operator/network-inventory"}
	if diff := cmp.Diff(want, calls(fake)[2:]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	inventory, err := readInventory(t.Context(), fake, "operator")
	if err != nil || len(inventory) != 2 || inventory[0].UID == "" || inventory[0].Component != "Test" {
		t.Errorf("inventory %v, %v", inventory, err)
	}
}

func TestNothingIsCreatedThatTheInventoryCannotName(t *testing.T) {
	fake, executor := memory(t)
	p := planOf(t, fake, object(t, aNamespace))
	fake.Fail = func(c applytest.Call) error {
		if c.Key.Name == plan.InventoryName {
			return errors.New("etcd is full")
		}
		return nil
	}
	_, err := executor.Execute(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "store inventory before applying: etcd is full") {
		t.Errorf("error %v", err)
	}
	if got := calls(fake); len(got) != 2 {
		t.Errorf("requests %q, want one read and the inventory", got)
	}
}

func TestUnreadableInventoryIsAnError(t *testing.T) {
	fake, _ := memory(t, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: network-inventory, namespace: operator}, data: {x: z}}").Object)
	if _, err := readInventory(t.Context(), fake, "operator"); !errors.Is(err, plan.ErrInventory) {
		t.Errorf("error %v", err)
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	fake, executor := memory(t)
	p := planOf(t, fake, object(t, aNamespace), object(t, aConfigMap), object(t, anotherMap), object(t, aDaemonSet))
	fake.Fail = func(c applytest.Call) error {
		if c.Key.Kind == "ConfigMap" && c.Key.Namespace == "ns" {
			return fmt.Errorf("no room for %s", c.Key.Name)
		}
		return nil
	}
	result, err := executor.Execute(t.Context(), p)
	const want = "create ConfigMap ns/c: no room for c\ncreate ConfigMap ns/d: no room for d"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, ok := fake.Live(manifest.Key{Group: "apps", Kind: "DaemonSet", Namespace: "ns", Name: "d"}); !ok {
		t.Error("what did not fail was not applied")
	}
	if len(result.Inventory) != 4 {
		t.Errorf("what may have been made is not in the inventory: %v", result.Inventory)
	}
}

func TestObjectsOfAFailedNamespaceAreSkipped(t *testing.T) {
	fake, executor := memory(t)
	p := planOf(t, fake, object(t, aNamespace), object(t, aConfigMap), object(t, aCRD), object(t, aFoo))
	fake.Fail = func(c applytest.Call) error {
		if c.Key.Kind == "Namespace" || c.Key.Kind == "CustomResourceDefinition" {
			return errors.New("no")
		}
		return nil
	}
	_, err := executor.Execute(t.Context(), p)
	for _, want := range []string{"create ConfigMap ns/c: it waits for its dependencies: Namespace ns", "create Foo f: it waits for its dependencies: CustomResourceDefinition foos.example.com"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	for _, call := range calls(fake) {
		if call == "apply ConfigMap ns/c" || call == "apply Foo f" {
			t.Errorf("%s was tried", call)
		}
	}
}

func TestNothingIsDeletedWhenSomethingFailed(t *testing.T) {
	fake, executor := memory(t)
	if _, err := executor.Execute(t.Context(), planOf(t, fake, object(t, aNamespace), object(t, aConfigMap))); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, fake, object(t, aNamespace), object(t, anotherMap))
	fake.Fail = func(c applytest.Call) error {
		if c.Key.Name == "d" {
			return errors.New("no")
		}
		return nil
	}
	result, err := executor.Execute(t.Context(), p)
	if _, ok := fake.Live(object(t, aConfigMap).Key()); !ok || err == nil {
		t.Errorf("it was deleted; error %v", err)
	}
	last := result.Outcomes[len(result.Outcomes)-1]
	if last.Verb != plan.Keep || !strings.Contains(last.String(), "when everything that is wanted could be applied") {
		t.Errorf("outcome %s", last)
	}
}

// TestObjectThatMayNotBeDeletedIsKept: after a downgrade, the roles of the operator do not have the names of the objects that only the newer release has.
func TestObjectThatMayNotBeDeletedIsKept(t *testing.T) {
	resource := schema.GroupResource{Resource: "any"}
	noRole := apierrors.NewForbidden(resource, "x", errors.New(`User "operator" cannot delete resource`))
	for _, tc := range []struct {
		why, object string
		verb        string
		err         error
		kept        bool
	}{
		{"roles restrict ConfigMaps by name", aConfigMap, "delete", noRole, true},
		{"a CRD is read before it is deleted, and roles restrict both by name", aCRD, "get", noRole, true},
		{"a workload would continue on nodes", aDaemonSet, "delete", noRole, false},
		{"a webhook is a problem that an administrator can resolve", aConfigMap, "delete", apierrors.NewForbidden(resource, "x", errors.New(`admission webhook "deny.example.com" denied the request: no`)), false},
		{"so is a policy", aConfigMap, "delete", apierrors.NewForbidden(resource, "x", errors.New("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no")), false},
	} {
		fake, executor := memory(t)
		left := object(t, tc.object)
		if _, err := executor.Execute(t.Context(), planOf(t, fake, object(t, aNamespace), left)); err != nil {
			t.Fatalf("%s: %v", tc.why, err)
		}
		p := planOf(t, fake, object(t, aNamespace))
		fake.Fail = func(c applytest.Call) error {
			if c.Verb == tc.verb && c.Key == left.Key() {
				return tc.err
			}
			return nil
		}
		result, err := executor.Execute(t.Context(), p)
		if (err == nil) != tc.kept {
			t.Errorf("%s: error %v, want none: %t", tc.why, err, tc.kept)
		}
		last := result.Outcomes[len(result.Outcomes)-1]
		if kept := last.Verb == plan.Keep && strings.Contains(last.String(), "the operator is not permitted to delete it"); kept != tc.kept {
			t.Errorf("%s: outcome %s", tc.why, last)
		}
		// The object stays in the inventory, so that it is deleted when the operator has the permission.
		if !slices.ContainsFunc(result.Inventory, func(e plan.Entry) bool { return e.Key == left.Key() }) {
			t.Errorf("%s: it is not in the inventory %v", tc.why, result.Inventory)
		}
	}
}

func TestUnseenObjectIsReadBeforeItIsDropped(t *testing.T) {
	fake, executor := memory(t)
	if _, err := executor.Execute(t.Context(), planOf(t, fake, object(t, aNamespace), object(t, aConfigMap), object(t, anotherMap))); err != nil {
		t.Fatal(err)
	}
	inventory, err := readInventory(t.Context(), fake, "operator")
	if err != nil {
		t.Fatal(err)
	}
	// One exists although the cache does not have it, one is deleted, and one belongs to another client.
	blind := func(manifest.Key) (*unstructured.Unstructured, bool) { return nil, false }
	gone, _ := fake.Live(object(t, aConfigMap).Key())
	if err := fake.Delete(t.Context(), ref(manifest.KeyOf(gone), "v1"), gone.GetUID(), ""); err != nil {
		t.Fatal(err)
	}
	foreign := object(t, aNamespace).Object
	foreign.SetLabels(nil)
	fake.Put(foreign)
	p, err := plan.Make(plan.Input{Live: blind, Inventory: inventory})
	if err != nil {
		t.Fatal(err)
	}
	fake.Calls()
	result, err := executor.Execute(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := fake.Live(object(t, anotherMap).Key()); ok {
		t.Error("an object that the cache has not seen was left behind")
	}
	if _, ok := fake.Live(manifest.KeyOf(foreign)); !ok {
		t.Error("an object of another client was deleted")
	}
	if len(result.Inventory) != 1 || result.Inventory[0].Key.Kind != "Namespace" {
		t.Errorf("inventory %v", result.Inventory)
	}
}

func TestObjectThatWasReplacedMeanwhileIsNotDeleted(t *testing.T) {
	fake, executor := memory(t)
	if _, err := executor.Execute(t.Context(), planOf(t, fake, object(t, aNamespace), object(t, aConfigMap))); err != nil {
		t.Fatal(err)
	}
	p := planOf(t, fake, object(t, aNamespace))
	other := object(t, aConfigMap).Object
	other.SetUID("another")
	fake.Put(other)
	_, err := executor.Execute(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "delete ConfigMap ns/c: another client changed or replaced it at the same time") {
		t.Errorf("error %v", err)
	}
}

func TestForeignObjectThatTheCacheDoesNotHaveIsNeverDeleted(t *testing.T) {
	foreign := object(t, strings.Replace(aConfigMap, "a: b", "a: theirs", 1)).Object
	foreign.SetLabels(nil)
	fake, executor := memory(t, foreign)
	// A cache of what has the operator's label.
	ours := func(key manifest.Key) (*unstructured.Unstructured, bool) {
		o, ok := fake.Live(key)
		return o, ok && o.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
	}
	for _, desired := range [][]manifest.Object{{object(t, aConfigMap)}, nil} {
		inventory, err := readInventory(t.Context(), fake, "operator")
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Make(plan.Input{Desired: desired, Live: ours, Inventory: inventory})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := executor.Execute(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	live, ok := fake.Live(manifest.KeyOf(foreign))
	if !ok || at(live.Object, "data", "a") != "b" {
		t.Errorf("got %v, %t; want it taken over, and there", live, ok)
	}
}

func TestUnreadableObjectIsNotWritten(t *testing.T) {
	fake, executor := memory(t)
	p := planOf(t, fake, object(t, aNamespace), object(t, aConfigMap))
	fake.Fail = func(c applytest.Call) error {
		if c.Verb == "get" && c.Key.Kind == "ConfigMap" {
			return errors.New("no answer")
		}
		return nil
	}
	_, err := executor.Execute(t.Context(), p)
	if err == nil || err.Error() != "create ConfigMap ns/c: no answer" {
		t.Errorf("error %v", err)
	}
	if _, ok := fake.Live(object(t, aConfigMap).Key()); ok {
		t.Error("it was written")
	}
}

func TestCreateOnlyObjectIsNotChangedWhenTheCacheIsLate(t *testing.T) {
	existing := object(t, strings.Replace(aConfigMap, "a: b", "a: theirs", 1))
	fake, executor := memory(t, existing.Object)
	wanted := object(t, aConfigMap)
	wanted.Policy.CreateOnly = true
	p, err := plan.Make(plan.Input{Desired: []manifest.Object{wanted}, Live: func(manifest.Key) (*unstructured.Unstructured, bool) { return nil, false }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := executor.Execute(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if live, _ := fake.Live(wanted.Key()); at(live.Object, "data", "a") != "theirs" {
		t.Errorf("got %v", live)
	}
}

func TestObjectsOfARankAreWrittenConcurrentlyWithALimit(t *testing.T) {
	fake, executor := memory(t)
	executor.Concurrency = 3
	var now, most atomic.Int64
	fake.Fail = func(c applytest.Call) error {
		if c.Verb != "apply" || c.Key.Kind != "ConfigMap" || c.Key.Namespace != "ns" {
			if c.Verb == "apply" && c.Key.Kind == "DaemonSet" && now.Load() > 0 {
				return errors.New("too early")
			}
			return nil
		}
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		return nil
	}
	objects := []manifest.Object{object(t, aNamespace), object(t, aDaemonSet)}
	for i := range 12 {
		o := object(t, aConfigMap)
		o.Object.SetName(fmt.Sprint("c", i))
		objects = append(objects, o)
	}
	if _, err := executor.Execute(t.Context(), planOf(t, fake, objects...)); err != nil {
		t.Fatal(err)
	}
	if got := most.Load(); got < 2 || got > 3 {
		t.Errorf("%d at once, want 3", got)
	}
}

func TestCRDThatIsNeverEstablishedIsAnErrorInTime(t *testing.T) {
	fake, executor := memory(t)
	executor.SettleTimeout = 100 * time.Millisecond
	executor.Client = neverEstablished{fake}
	_, err := executor.Execute(t.Context(), planOf(t, fake, object(t, aCRD), object(t, aFoo)))
	if err == nil || !strings.Contains(err.Error(), "create CustomResourceDefinition foos.example.com: it took more than 100ms for it to be established") {
		t.Errorf("error %v", err)
	}
}

type neverEstablished struct{ *applytest.Fake }

func (n neverEstablished) Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := n.Fake.Apply(ctx, obj)
	if err == nil {
		delete(live.Object, "status")
	}
	return live, err
}

func (n neverEstablished) Get(ctx context.Context, ref apply.Ref) (*unstructured.Unstructured, error) {
	live, err := n.Fake.Get(ctx, ref)
	if err == nil {
		delete(live.Object, "status")
	}
	return live, err
}

func TestErrorsAreSentences(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{apierrors.NewConflict(resource, "c", errors.New("modified")), "create ConfigMap ns/c: another client changed or replaced it at the same time: "},
		{apierrors.NewInternalError(errors.New(`failed calling webhook "deny.example.com": context deadline exceeded`)),
			"create ConfigMap ns/c: the admission webhook deny.example.com, which is not the operator's, did not answer: "},
		{apierrors.NewForbidden(resource, "c", errors.New(`admission webhook "deny.example.com" denied the request: no`)),
			"create ConfigMap ns/c: the admission webhook deny.example.com, which is not the operator's, denied it: "},
		{&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}, "create ConfigMap ns/c: the API server does not serve ConfigMap in version v1"},
		{fmt.Errorf("patch: %w", context.DeadlineExceeded), "create ConfigMap ns/c: the API server did not answer in time: "},
		{apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns"), "create ConfigMap ns/c: there is no namespace ns, or its API is not available: "},
	} {
		fake, executor := memory(t)
		p := planOf(t, fake, object(t, aConfigMap))
		fake.Fail = func(c applytest.Call) error {
			if c.Key.Namespace == "ns" {
				return tc.err
			}
			return nil
		}
		_, err := executor.Execute(t.Context(), p)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("got  %v\nwant %s...", err, tc.want)
		}
		if !errors.Is(err, tc.err) {
			t.Errorf("%v hides its cause", err)
		}
	}
}

func TestUnresponsiveServerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, executor := memory(t)
		executor.Client, executor.RequestTimeout = hanging{fake}, 50*time.Millisecond
		start := time.Now()
		_, err := executor.Execute(t.Context(), planOf(t, fake, object(t, aNamespace)))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != executor.RequestTimeout {
			t.Errorf("error %v after %s", err, took)
		}
	})
}

type hanging struct{ *applytest.Fake }

func (hanging) Apply(ctx context.Context, _ *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
