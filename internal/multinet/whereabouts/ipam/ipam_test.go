package ipam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

var _ cniserver.Handler = (*Handler)(nil)

// cluster is a namespace on an API server.
type cluster struct {
	*apitest.Server
	t testing.TB
	// agent is the configuration of an account with the permissions of the daemon.
	agent     *rest.Config
	namespace string
	mu        sync.Mutex
	events    []string
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{Server: apitest.Shared(t), t: t}
	c.namespace = c.Namespace(t)
	c.agent = c.ServiceAccount(t, c.namespace, "multus")
	for _, name := range []string{"clusterrole", "clusterrole-whereabouts"} {
		raw, err := os.ReadFile("../../../../providers/multus/assets/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(raw, role); err != nil {
			t.Fatal(err)
		}
		role.Name = c.namespace + "-" + name
		c.Create(t, role)
		c.Create(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.namespace, Name: "multus"}}})
	}
	h := c.node("any")
	eventually.Holds(t, "the role is known to the API server", func() (string, bool) {
		err := h.Status(t.Context())
		return fmt.Sprint(err), err == nil
	})
	return c
}

// node returns the handler of a node.
func (c *cluster) node(name string, on ...client.Client) *Handler {
	c.t.Helper()
	if len(on) == 0 {
		on = []client.Client{c.intercepted(interceptor.Funcs{})}
	}
	cl := on[0]
	return New(Options{Client: cl, Namespace: c.namespace, Node: name, Log: slog.New(slog.DiscardHandler), Event: func(pod cniserver.Pod, reason, message string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = append(c.events, pod.Name+" "+reason+": "+message)
	}})
}

func (c *cluster) intercepted(f interceptor.Funcs) client.Client {
	c.t.Helper()
	direct, err := client.NewWithWatch(c.agent, client.Options{Scheme: c.Client.Scheme()})
	if err != nil {
		c.t.Fatal(err)
	}
	return interceptor.NewClient(direct, f)
}

// call is an attachment of the pod and container of a name.
func (c *cluster) call(pod, members string) cniserver.Call {
	return cniserver.Call{
		Plugin: "whereabouts", Network: "n", ContainerID: "sandbox-" + pod, IfName: "net1",
		Args:   map[string]string{"K8S_POD_NAMESPACE": c.namespace, "K8S_POD_NAME": pod, "K8S_POD_UID": "uid-" + pod},
		Config: json.RawMessage(`{"cniVersion":"1.1.0","name":"n","type":"macvlan","ipam":{"type":"whereabouts",` + members + `}}`),
	}
}

func with(call cniserver.Call, change func(*cniserver.Call)) cniserver.Call {
	change(&call)
	return call
}

// add returns the addresses of an ADD.
func add(t *testing.T, h *Handler, call cniserver.Call) string {
	t.Helper()
	result, err := h.Add(t.Context(), call)
	if err != nil {
		t.Fatalf("ADD of %s: %v", call.ContainerID, err)
	}
	return addresses(result)
}

func addresses(r *current.Result) string {
	var out []string
	for _, ip := range r.IPs {
		out = append(out, ip.Address.String())
	}
	return strings.Join(out, " ")
}

// code returns the CNI code and the message of an error.
func code(err error) (int, string) {
	if err == nil {
		return 0, ""
	}
	e := cniproto.AsError(err)
	return e.Code, e.Message
}

// pool returns the allocations of an IPPool as offset: container.
func (c *cluster) pool(name string) map[string]string {
	c.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(store.KindPool)
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, u); err != nil {
		c.t.Fatal(err)
	}
	allocations, err := store.ReadPool(u)
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]string{}
	for offset, a := range allocations {
		out[offset] = a.ContainerID
	}
	return out
}

// reservations returns the names of all reservations.
func (c *cluster) reservations() []string {
	c.t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(store.GroupVersion.WithKind("OverlappingRangeIPReservationList"))
	if err := c.Client.List(c.t.Context(), list, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func TestAddCheckAndDel(t *testing.T) {
	c := newCluster(t)
	h := c.node("a")
	call := c.call("p", `"range":"192.0.2.0/29","gateway":"192.0.2.1","ipRanges":[{"range":"fd00::/64"}],"routes":[{"dst":"0.0.0.0/0"}],
		"dns":{"nameservers":["192.0.2.53"]},"addresses":[{"address":"198.51.100.5/24","gateway":"198.51.100.1"}]`)
	result, err := h.Add(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := addresses(result), "192.0.2.2/29 fd00::1/64 198.51.100.5/24"; got != want {
		t.Errorf("addresses %s, want %s", got, want)
	}
	if gw := result.IPs; gw[0].Gateway.String() != "192.0.2.1" || gw[1].Gateway != nil || gw[2].Gateway.String() != "198.51.100.1" {
		t.Errorf("gateways %v", gw)
	}
	if len(result.Routes) != 1 || result.DNS.Nameservers[0] != "192.0.2.53" {
		t.Errorf("%+v", result)
	}
	if err := h.Check(t.Context(), call, result); err != nil {
		t.Error(err)
	}
	if again := add(t, h, call); again != addresses(result) {
		t.Errorf("a repeated ADD has %s", again)
	}
	if diff := cmp.Diff([]string{"192.0.2.2", "fd00--1"}, c.reservations()); diff != "" {
		t.Error(diff)
	}
	for range 2 { // DEL may be repeated
		if err := h.Del(t.Context(), call); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Check(t.Context(), call, result); err == nil {
		t.Error("CHECK after DEL succeeds")
	}
	if pools, reservations := len(c.pool("192.0.2.0-29"))+len(c.pool("fd00---64")), c.reservations(); pools > 0 || len(reservations) > 0 {
		t.Errorf("%d allocations, %v", pools, reservations)
	}
	if err := h.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is in the objects is what whereabouts reads and writes, and more that it ignores.
func TestObjectsMatchWhereabouts(t *testing.T) {
	c := newCluster(t)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"range": "192.0.2.0/24", "allocations": map[string]any{
		"1": map[string]any{"id": "sandbox-old", "podref": c.namespace + "/old"},
		"2": map[string]any{"id": "sandbox-other", "podref": c.namespace + "/other", "ifname": "net1"},
	}}}}
	u.SetGroupVersionKind(store.KindPool)
	u.SetNamespace(c.namespace)
	u.SetName("mine-192.0.2.0-24")
	if err := c.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	h := c.node("a")
	members := `"range":"192.0.2.0/24","network_name":"mine"`
	if got := add(t, h, c.call("p", members)); got != "192.0.2.3/24" {
		t.Errorf("the third pod has %s", got)
	}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(u.Object, "spec", "allocations", "3")
	want := map[string]any{"id": "sandbox-p", "podref": c.namespace + "/p", "ifname": "net1", "podUID": "uid-p", "node": "a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if fields := u.GetManagedFields(); len(fields) > 0 {
		t.Errorf("the pool has managedFields: %v", fields)
	}
	// The DEL of a pod that whereabouts attached.
	if err := h.Del(t.Context(), c.call("old", members)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"2": "sandbox-other", "3": "sandbox-p"}, c.pool("mine-192.0.2.0-24")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mine-192.0.2.3"}, c.reservations()); diff != "" {
		t.Error(diff)
	}
}

func TestAPodKeepsItsAddressInANewSandbox(t *testing.T) {
	c := newCluster(t)
	h := c.node("a")
	members := `"range":"192.0.2.0/29"`
	old := c.call("p", members)
	renewed := with(old, func(call *cniserver.Call) { call.ContainerID = "renewed" })
	first := add(t, h, old)
	if got := add(t, h, renewed); got != first {
		t.Errorf("the new sandbox has %s, the old one had %s", got, first)
	}
	// The DEL of the old sandbox comes late.
	if err := h.Del(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"1": "renewed"}, c.pool("192.0.2.0-29")); diff != "" {
		t.Error(diff)
	}
	if got := c.reservations(); len(got) != 1 {
		t.Errorf("reservations %v", got)
	}
	if err := h.Del(t.Context(), renewed); err != nil {
		t.Fatal(err)
	}
	if got := c.reservations(); len(got) != 0 {
		t.Errorf("reservations %v", got)
	}
}

func TestOverlappingRanges(t *testing.T) {
	c := newCluster(t)
	h := c.node("a")
	for i, tt := range []struct{ why, members, want string }{
		{"a small range", `"range":"192.0.2.0/30"`, "192.0.2.1/30"},
		{"a large range around it skips the address", `"range":"192.0.2.0/24"`, "192.0.2.2/24"},
		{"another network has addresses of its own", `"range":"192.0.2.0/24","network_name":"other"`, "192.0.2.1/24"},
		{"a range that may overlap", `"range":"192.0.2.0/25","enable_overlapping_ranges":false`, "192.0.2.1/25"},
	} {
		if got := add(t, h, c.call(fmt.Sprint("p", i), tt.members)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.why, got, tt.want)
		}
	}
	// Many addresses that another pool has are found without trying each.
	var calls []cniserver.Call
	for i := range 40 {
		calls = append(calls, c.call(fmt.Sprint("large", i), `"range":"10.0.0.0/24"`))
	}
	c.all(h, calls)
	if got := add(t, h, c.call("over", `"range":"10.0.0.0/23"`)); got != "10.0.0.41/23" {
		t.Errorf("over 40 addresses: %s", got)
	}
}

// all adds attachments at once, and returns their addresses.
func (c *cluster) all(h *Handler, calls []cniserver.Call) []string {
	c.t.Helper()
	got := make([]string, len(calls))
	var group sync.WaitGroup
	for i, call := range calls {
		group.Go(func() {
			result, err := h.Add(c.t.Context(), call)
			if err != nil {
				c.t.Errorf("ADD of %s: %v", call.ContainerID, err)
				return
			}
			got[i] = addresses(result)
		})
	}
	group.Wait()
	return got
}

func TestExhaustionIsReportedAndNothingIsKept(t *testing.T) {
	c := newCluster(t)
	h := c.node("a")
	small := `"range":"192.0.2.0/31"`
	add(t, h, c.call("p", small))
	add(t, h, c.call("q", small))
	// The first range has addresses, the second has none.
	_, err := h.Add(t.Context(), c.call("r", `"range":"fd00::/64","ipRanges":[{"range":"192.0.2.0/31"}]`))
	number, message := code(err)
	if number != cniproto.CodeTryAgain || !strings.Contains(message, "the 2 addresses of the range 192.0.2.0/31 are in use") {
		t.Errorf("%d %s", number, message)
	}
	if len(c.events) != 1 || !strings.HasPrefix(c.events[0], "r AddressesExhausted: ") {
		t.Errorf("events %q", c.events)
	}
	if got := c.pool("fd00---64"); len(got) > 0 {
		t.Errorf("the first range keeps %v", got)
	}
	if got := c.reservations(); len(got) != 2 {
		t.Errorf("reservations %v", got)
	}
	if err := h.Del(t.Context(), c.call("p", small)); err != nil {
		t.Fatal(err)
	}
	if got := add(t, h, c.call("r", small)); got != "192.0.2.0/31" {
		t.Errorf("after a DEL: %s", got)
	}
}

func TestRequestedAddresses(t *testing.T) {
	c := newCluster(t)
	h := c.node("a")
	ask := func(pod, ips string) cniserver.Call {
		return with(c.call(pod, ""), func(call *cniserver.Call) {
			call.Config = json.RawMessage(`{"name":"n","ipam":{"type":"whereabouts","range":"192.0.2.0/24","ipRanges":[{"range":"fd00::/64"}]},"runtimeConfig":{"ips":[` + ips + `]}}`)
		})
	}
	if got := add(t, h, ask("p", `"192.0.2.77/24"`)); got != "192.0.2.77/24 fd00::1/64" {
		t.Errorf("one is requested: %s", got)
	}
	_, err := h.Add(t.Context(), ask("q", `"fd00::5","192.0.2.77"`))
	if number, message := code(err); number != cniproto.CodeTryAgain || !strings.Contains(message, "192.0.2.77 is in use by interface net1 of pod "+c.namespace+"/p") {
		t.Errorf("%d %s", number, message)
	}
	_, err = h.Add(t.Context(), with(ask("q", `"192.0.2.77"`), func(call *cniserver.Call) {
		call.Args = map[string]string{"K8S_POD_NAMESPACE": "elsewhere", "K8S_POD_NAME": "q", "K8S_POD_UID": "uid-q"}
	}))
	if number, message := code(err); number != cniproto.CodeTryAgain || !strings.Contains(message, "in use by a pod of another namespace") || strings.Contains(message, "/p") {
		t.Errorf("%d %s", number, message)
	}
	_, err = h.Add(t.Context(), ask("q", `"10.0.0.1"`))
	if number, message := code(err); number != cniproto.CodeInvalidConfig || !strings.Contains(message, "is in none of the ranges") {
		t.Errorf("%d %s", number, message)
	}
	if diff := cmp.Diff(map[string]string{"1": "sandbox-p"}, c.pool("fd00---64")); diff != "" {
		t.Error(diff)
	}
}

func TestAddressesOfAClaimStay(t *testing.T) {
	c := newCluster(t)
	h := c.node("a")
	claim := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"network": "n", "interface": "x"}}}
	claim.SetGroupVersionKind(KindClaim)
	claim.SetNamespace(c.namespace)
	claim.SetName("c")
	ask := func(pod string) cniserver.Call {
		return with(c.call(pod, ""), func(call *cniserver.Call) {
			call.Config = json.RawMessage(`{"name":"n","ipam":{"type":"whereabouts","range":"192.0.2.0/24","ipRanges":[{"range":"fd00::/64"}]},"runtimeConfig":{"ipam-claim-reference":"c"}}`)
		})
	}
	_, err := h.Add(t.Context(), ask("p"))
	if number, message := code(err); number != cniproto.CodeTryAgain || !strings.Contains(message, "does not exist") {
		t.Errorf("without a claim: %d %s", number, message)
	}
	if err := c.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	first := add(t, h, ask("p"))
	if err := h.Del(t.Context(), ask("p")); err != nil {
		t.Fatal(err)
	}
	if got := add(t, h, c.call("other", `"range":"192.0.2.0/24"`)); got == "192.0.2.1/24" {
		t.Error("an address that a claim keeps is assigned to another pod")
	}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	ips, _, _ := unstructured.NestedStringSlice(claim.Object, "status", "ips")
	if diff := cmp.Diff([]string{"192.0.2.1/24", "fd00::1/64"}, ips); diff != "" || strings.Join(ips, " ") != first {
		t.Error(diff, first)
	}
	// The status may be lost: the pool is authoritative.
	claim.Object["status"] = map[string]any{"ips": []any{}}
	if err := c.Client.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	if got := add(t, c.node("b"), ask("next")); got != first {
		t.Errorf("the next pod has %s, the first had %s", got, first)
	}
	// Two interfaces of a pod cannot have the same addresses.
	_, err = c.node("b").Add(t.Context(), with(ask("next"), func(call *cniserver.Call) { call.IfName = "net2" }))
	if number, message := code(err); number != cniproto.CodeTryAgain || !strings.Contains(message, "is in use by interface net1") {
		t.Errorf("a second interface: %d %s", number, message)
	}
	_, err = h.Add(t.Context(), with(ask("p"), func(call *cniserver.Call) {
		call.Config = json.RawMessage(strings.Replace(string(call.Config), `"name":"n"`, `"name":"m"`, 1))
	}))
	if number, message := code(err); number != cniproto.CodeInvalidConfig || !strings.Contains(message, `is for the network "n"`) {
		t.Errorf("another network: %d %s", number, message)
	}
}

func TestNodesHaveSlices(t *testing.T) {
	c := newCluster(t)
	members := `"range":"192.0.2.0/24","ipRanges":[{"range":"fd00::/64"}],"node_slice_size":"/28"`
	_, err := c.node("b").Add(t.Context(), c.call("p", members))
	if number, message := code(err); number != cniproto.CodeTryAgain || !strings.Contains(message, "node b has no slice of the range 192.0.2.0/24 yet") {
		t.Errorf("%d %s", number, message)
	}
	for name, slices := range map[string][]string{"n": {"192.0.2.0/28", "192.0.2.16/28"}, "n-fd00---64": {"fd00::/124", "fd00::10/124"}} {
		u := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"range": "x", "sliceSize": "/28"},
			"status": map[string]any{"allocations": []any{
				map[string]any{"nodeName": "a", "sliceRange": slices[0]}, map[string]any{"nodeName": "b", "sliceRange": slices[1]},
			}},
		}}
		u.SetGroupVersionKind(store.KindSlicePool)
		u.SetNamespace(c.namespace)
		u.SetName(name)
		if err := c.Client.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	b := c.node("b")
	if got := add(t, b, c.call("p", members)); got != "192.0.2.16/24 fd00::10/64" {
		t.Errorf("node b: %s", got)
	}
	if got := add(t, c.node("a"), c.call("q", members)); got != "192.0.2.1/24 fd00::1/64" {
		t.Errorf("node a: %s", got)
	}
	if diff := cmp.Diff(map[string]string{"16": "sandbox-p"}, c.pool("192.0.2.0-24-b")); diff != "" {
		t.Error(diff)
	}
	if err := b.Del(t.Context(), c.call("p", members)); err != nil {
		t.Fatal(err)
	}
	if got := c.pool("192.0.2.0-24-b"); len(got) > 0 {
		t.Error(got)
	}
}

func TestInvalidConfigurationIsRefusedWithAllErrors(t *testing.T) {
	c := newCluster(t)
	_, err := c.node("a").Add(t.Context(), c.call("p", `"range":"192.0.2.0/24","range_end":"10.0.0.1","gateway":"x"`))
	number, message := code(err)
	if number != cniproto.CodeInvalidConfig || !strings.Contains(message, "ipam.range_end") || !strings.Contains(message, "ipam.gateway") {
		t.Errorf("%d %s", number, message)
	}
	if err := c.node("a").Del(t.Context(), c.call("p", `"range":"192.0.2.0/24","range_end":"10.0.0.1"`)); err != nil {
		t.Errorf("DEL of what was refused: %v", err)
	}
}

// While the API server does not answer, an ADD waits and then returns an error; an incomplete DEL is an error.
func TestWithoutAPIServer(t *testing.T) {
	c := newCluster(t)
	gone := errors.New("dial tcp: connection refused")
	var mu sync.Mutex
	away := true
	fails := func() error {
		mu.Lock()
		defer mu.Unlock()
		if away {
			return gone
		}
		return nil
	}
	h := c.node("a", c.intercepted(interceptor.Funcs{
		Get: func(ctx context.Context, cl client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := fails(); err != nil {
				return err
			}
			return cl.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, cl client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := fails(); err != nil {
				return err
			}
			return cl.List(ctx, l, opts...)
		},
	}))
	h.store.RetryTimeout = 50 * time.Millisecond
	call := c.call("p", `"range":"192.0.2.0/24"`)
	for name, do := range map[string]func() error{
		"ADD": func() error { _, err := h.Add(t.Context(), call); return err },
		"DEL": func() error { return h.Del(t.Context(), call) },
	} {
		number, message := code(do())
		if number != cniproto.CodeTryAgain || !strings.Contains(message, "does not answer") || !strings.Contains(message, "connection refused") {
			t.Errorf("%s: %d %s", name, number, message)
		}
	}
	if err := h.Status(t.Context()); err == nil {
		t.Error("STATUS succeeds")
	}
	// The caller has less patience than the handler.
	h.store.RetryTimeout = time.Minute
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := h.Add(short, call)
	if number, message := code(err); number != cniproto.CodeTryAgain || !strings.Contains(message, "connection refused") {
		t.Errorf("a short deadline: %d %s", number, message)
	}
	done := make(chan string)
	go func() {
		result, err := h.Add(t.Context(), call)
		done <- fmt.Sprint(addresses(result), err)
	}()
	mu.Lock()
	away = false
	mu.Unlock()
	if got := <-done; got != "192.0.2.1/24<nil>" {
		t.Errorf("when it answers again: %s", got)
	}
}

// A caller that does not wait for its address does not keep it.
func TestUnclaimedAddressIsReleased(t *testing.T) {
	c := newCluster(t)
	writing, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h := c.node("a", c.intercepted(interceptor.Funcs{
		Create: func(ctx context.Context, cl client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetObjectKind().GroupVersionKind() == store.KindPool {
				once.Do(func() { close(writing); <-proceed })
			}
			return cl.Create(ctx, o, opts...)
		},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := h.Add(ctx, c.call("p", `"range":"192.0.2.0/24"`))
		failed <- err
	}()
	<-writing
	cancel()
	if number, _ := code(<-failed); number != cniproto.CodeTryAgain {
		t.Error("a cancelled ADD has another code")
	}
	close(proceed)
	// The queue of the pool is served in order: the release comes before this.
	if got := add(t, h, c.call("q", `"range":"192.0.2.0/24"`)); got != "192.0.2.1/24" && got != "192.0.2.2/24" {
		t.Error(got)
	}
	if err := h.Del(t.Context(), c.call("q", `"range":"192.0.2.0/24"`)); err != nil {
		t.Fatal(err)
	}
	if got := c.pool("192.0.2.0-24"); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
	if got := c.reservations(); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// An API server without our fields drops them.
func TestOwnersWithoutUID(t *testing.T) {
	a := whereabouts.Allocation{ContainerID: "x", IfName: "net1"}
	if !a.Owns(whereabouts.Allocation{ContainerID: "x"}) || a.Owns(whereabouts.Allocation{ContainerID: "y", IfName: "net1"}) {
		t.Error("ownership without UIDs is that of the sandbox")
	}
}
