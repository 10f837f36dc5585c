package admission

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
)

// TestDaemonWritesAddressRecordsOfItsNodeOnly tries, with the token of a daemon's pod, what its role alone would let it do with the addresses of other nodes.
func TestDaemonWritesAddressRecordsOfItsNodeOnly(t *testing.T) {
	d := newServer(t, inUse())
	const namespace, name = "openshift-multus", "multus"
	if err := d.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	unbound, err := d.ClientFor(d.ServiceAccount(t, namespace, name))
	if err != nil {
		t.Fatal(err)
	}
	d.Create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "records"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"whereabouts.cni.cncf.io"}, Resources: []string{"*"}, Verbs: []string{"*"}}}})
	d.Create(t, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "records"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "records"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}})
	d.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "records-one"}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "daemon"}, Spec: corev1.PodSpec{
		NodeName: "records-one", ServiceAccountName: name, TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "a", Image: "a:1"}},
	}}
	d.Create(t, pod)
	daemon, err := d.ClientFor(d.Pod(t, pod))
	if err != nil {
		t.Fatal(err)
	}
	record := func(node, claim string) map[string]any {
		r := map[string]any{"id": "c", "podref": "shop/web", "containerid": "c"}
		if node != "" {
			r["node"] = node
		}
		if claim != "" {
			r["claimUID"] = claim
		}
		return r
	}
	object := func(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		u.SetGroupVersionKind(kind)
		u.SetNamespace(namespace)
		u.SetName(name)
		return u
	}
	poolOf := func(allocations map[string]any) map[string]any {
		return map[string]any{"range": "192.0.2.0/24", "allocations": allocations}
	}
	pool := object(store.KindPool, "192.0.2.0-24", poolOf(map[string]any{"1": record("records-one", ""), "2": record("records-two", ""), "3": record("records-two", "u1"), "4": record("", "")}))
	d.Create(t, pool)
	reservations := map[string]*unstructured.Unstructured{}
	for name, spec := range map[string]map[string]any{"own": record("records-one", ""), "foreign": record("records-two", ""), "claimed": record("records-two", "u1"), "old": record("", "")} {
		reservations[name] = object(store.KindReservation, name, spec)
		d.Create(t, reservations[name])
	}
	patch := func(by client.Client, o *unstructured.Unstructured, body string) error {
		return by.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
	allocation := func(offset, value string) string {
		return fmt.Sprintf(`{"spec":{"allocations":{%q:%s}}}`, offset, value)
	}
	const own, foreign = `{"id":"c","podref":"shop/new","node":"records-one","claimUID":null}`, `{"id":"c","podref":"shop/new","node":"records-two"}`
	const claimed = `{"id":"c","podref":"shop/new","node":"records-one","claimUID":"u1"}`
	create := func(kind schema.GroupVersionKind, name string, spec map[string]any) error {
		return daemon.Create(t.Context(), object(kind, name, spec), client.DryRunAll)
	}
	remove := func(name string) error {
		return daemon.Delete(t.Context(), reservations[name].DeepCopy(), client.DryRunAll)
	}
	for _, row := range []struct {
		why     string
		do      func() error
		allowed bool
	}{
		{"an address for its own node", func() error { return patch(daemon, pool, allocation("9", own)) }, true},
		{"... with a token that is bound to no pod", func() error { return patch(unbound, pool, allocation("9", own)) }, false},
		{"an address for another node", func() error { return patch(daemon, pool, allocation("9", foreign)) }, false},
		{"an address without a node", func() error { return patch(daemon, pool, allocation("9", `{"id":"c","podref":"shop/new"}`)) }, false},
		{"its own address is released", func() error { return patch(daemon, pool, allocation("1", "null")) }, true},
		{"its own address is given to another node", func() error { return patch(daemon, pool, allocation("1", foreign)) }, false},
		{"the address of another node is released", func() error { return patch(daemon, pool, allocation("2", "null")) }, false},
		{"... is taken", func() error { return patch(daemon, pool, allocation("2", own)) }, false},
		{"... is taken with an invented claim", func() error { return patch(daemon, pool, allocation("2", claimed)) }, false},
		{"... is assigned to another pod of that node", func() error { return patch(daemon, pool, allocation("2", foreign)) }, false},
		{"the address of a claim follows its pod", func() error { return patch(daemon, pool, allocation("3", claimed)) }, true},
		{"... is released by another node", func() error { return patch(daemon, pool, allocation("3", "null")) }, false},
		{"... is taken without the claim", func() error { return patch(daemon, pool, allocation("3", own)) }, false},
		{"an address of an earlier version, without a node, is released", func() error { return patch(daemon, pool, allocation("4", "null")) }, true},
		{"the range", func() error { return patch(daemon, pool, `{"spec":{"range":"198.51.100.0/24"}}`) }, false},
		{"something that is not an allocation", func() error { return patch(daemon, pool, `{"metadata":{"managedFields":[{}]}}`) }, true},
		{"a pool for its own node", func() error {
			return create(store.KindPool, "new", poolOf(map[string]any{"1": record("records-one", "")}))
		}, true},
		{"a pool with an address of another node", func() error {
			return create(store.KindPool, "new", poolOf(map[string]any{"1": record("records-two", "")}))
		}, false},
		{"the pool is deleted", func() error { return daemon.Delete(t.Context(), pool.DeepCopy(), client.DryRunAll) }, false},
		{"a reservation for its own node", func() error { return create(store.KindReservation, "new", record("records-one", "")) }, true},
		{"a reservation for another node", func() error { return create(store.KindReservation, "new", record("records-two", "")) }, false},
		{"its own reservation is deleted", func() error { return remove("own") }, true},
		{"a reservation without a node is deleted", func() error { return remove("old") }, true},
		{"the reservation of another node is deleted", func() error { return remove("foreign") }, false},
		{"... is taken", func() error { return patch(daemon, reservations["foreign"], `{"spec":{"node":"records-one"}}`) }, false},
		{"the reservation of a claim follows its pod", func() error { return patch(daemon, reservations["claimed"], `{"spec":{"node":"records-one"}}`) }, true},
		{"... is deleted by another node", func() error { return remove("claimed") }, false},
		{"an administrator", func() error { return patch(d.Client, pool, allocation("2", "null")) }, true},
	} {
		if err := row.do(); (err == nil) != row.allowed || err != nil && !strings.Contains(err.Error(), "address-records-own-node") {
			t.Errorf("%s: allowed %t, got %v", row.why, row.allowed, err)
		}
	}
}
