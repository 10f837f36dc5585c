package addresspool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts/store"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// cluster is an API server that the test uses alone, with the controller, which the test runs explicitly.
type cluster struct {
	*apitest.Server
	*Controller
	t       *testing.T
	now     time.Time
	nodes   []string
	enabled bool
	events  []string
}

func (c *cluster) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	name := regarding.(client.Object).GetName()
	c.events = append(c.events, fmt.Sprintf("%s %s %s: %s", kind, name, reason, fmt.Sprintf(note, args...)))
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Server: apitest.Borrow(t), t: t, now: time.Now(), nodes: []string{"a"}, enabled: true}
	c.Controller = &Controller{
		client: c.Client, Namespace: c.Server.Namespace(t), Metrics: NewMetrics(prometheus.NewRegistry()), Events: c,
		Enabled: func(context.Context) (bool, error) { return c.enabled, nil },
		Nodes: func(context.Context) ([]*corev1.Node, error) {
			var nodes []*corev1.Node
			for _, name := range c.nodes {
				nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			return nodes, nil
		},
		Now: func() time.Time { return c.now }, Log: slog.New(slog.DiscardHandler),
	}
	c.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	c.client = c.restricted()
	return c
}

// restricted returns a client with the permissions of config/rbac and no others.
func (c *cluster) restricted() client.Client {
	c.t.Helper()
	raw, err := os.ReadFile("../../../config/rbac/addresspool.yaml")
	if err != nil {
		c.t.Fatal(err)
	}
	role, binding, _ := strings.Cut(string(raw), "\n---\n")
	r, b := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	if err := errors.Join(yaml.UnmarshalStrict([]byte(role), r), yaml.UnmarshalStrict([]byte(binding), b)); err != nil {
		c.t.Fatal(err)
	}
	config := c.ServiceAccount(c.t, c.Controller.Namespace, b.Subjects[0].Name)
	b.Subjects[0].Namespace = c.Controller.Namespace
	c.Create(c.t, r)
	c.Create(c.t, b)
	restricted, err := c.ClientFor(config)
	if err != nil {
		c.t.Fatal(err)
	}
	eventually.Holds(c.t, "the role is known to the API server", func() (string, bool) {
		err := restricted.List(c.t.Context(), metadataList(store.KindPool), client.InNamespace(c.Controller.Namespace))
		return fmt.Sprint(err), err == nil
	})
	return restricted
}

// run reconciles after a time.
func (c *cluster) run(after time.Duration) {
	c.t.Helper()
	c.now = c.now.Add(after)
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
}

// pod creates a pod of the node a, and returns it as an owner of addresses.
func (c *cluster) pod(name string, phase corev1.PodPhase) whereabouts.Allocation {
	c.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Controller.Namespace, Name: name}, Spec: corev1.PodSpec{
		NodeName: "a", TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	c.Create(c.t, p)
	if phase != "" {
		p.Status.Phase = phase
		if err := c.Client.Status().Update(c.t.Context(), p); err != nil {
			c.t.Fatal(err)
		}
	}
	return c.owner(name, string(p.UID))
}

func (c *cluster) owner(pod, uid string) whereabouts.Allocation {
	a := owner(pod, uid)
	a.PodRef = c.Controller.Namespace + "/" + pod
	return a
}

// assign has addresses assigned, with their reservations, as an agent does.
func (c *cluster) assign(network string, owners ...whereabouts.Allocation) {
	c.t.Helper()
	s := store.New(c.Client, c.Controller.Namespace, c.Log)
	r := whereabouts.Usable(parsePrefix(network))
	for _, o := range owners {
		outcome, err := s.Assign(c.t.Context(), whereabouts.Pool{Network: r.Network}, true, whereabouts.Request{Range: r, Owner: o})
		if err != nil || !outcome.New {
			c.t.Fatal(outcome, err)
		}
	}
}

// left returns the pods that have addresses of a pool, and the names of all reservations.
func (c *cluster) left(name string) (pods, reservations []string) {
	c.t.Helper()
	u, err := c.get(c.t.Context(), store.KindPool, name)
	if err != nil {
		c.t.Fatal(err)
	}
	allocations, err := store.ReadPool(u)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, a := range allocations {
		pods = append(pods, strings.TrimPrefix(a.PodRef, c.Controller.Namespace+"/"))
	}
	list := metadataList(store.KindReservation)
	if err := c.Client.List(c.t.Context(), list, client.InNamespace(c.Controller.Namespace)); err != nil {
		c.t.Fatal(err)
	}
	for i := range list.Items {
		reservations = append(reservations, list.Items[i].Name)
	}
	slices.Sort(pods)
	return pods, reservations
}

func TestAddressesWithoutAPodAreReleased(t *testing.T) {
	c := newCluster(t)
	claim := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"network": "n", "interface": "net1"}}}
	claim.SetGroupVersionKind(kindClaim)
	claim.SetNamespace(c.Controller.Namespace)
	claim.SetName("c")
	c.Create(t, claim)
	kept := c.owner("kept", "k")
	kept.Claim, kept.ClaimUID = c.Controller.Namespace+"/c", string(claim.GetUID())
	lost := c.owner("lost", "l")
	lost.Claim, lost.ClaimUID = c.Controller.Namespace+"/x", "y"
	old := c.pod("old", "")
	old.PodUID, old.Node = "", ""
	moved := c.pod("moved", "")
	moved.Node = "deleted"
	c.pod("namesake", "")
	// 1 runs, 2 gone, 3 namesake, 4 done, 5 failed, 6 moved, 7 kept, 8 lost, 9 old
	c.assign("192.0.2.0/24", c.pod("runs", corev1.PodRunning), c.owner("gone", "g"), c.owner("namesake", "n"), c.pod("done", corev1.PodSucceeded),
		c.pod("failed", corev1.PodFailed), moved, kept, lost, old)
	c.run(0)
	c.run(grace - time.Second)
	if pods, _ := c.left("192.0.2.0-24"); len(pods) != 9 || len(c.events) > 0 {
		t.Fatalf("before the grace period has passed: %v, %v", pods, c.events)
	}
	c.run(time.Second)
	pods, reservations := c.left("192.0.2.0-24")
	if diff := cmp.Diff([]string{"kept", "old", "runs"}, pods) + cmp.Diff([]string{"192.0.2.1", "192.0.2.7", "192.0.2.9"}, reservations); diff != "" {
		t.Error(diff)
	}
	slices.Sort(c.events)
	ns := c.Controller.Namespace
	want := []string{
		"Normal 192.0.2.0-24 AddressReleased: released, because the IPAMClaim that kept it, and the pod, no longer exist: 192.0.2.8 of pod " + ns + "/lost",
		"Normal 192.0.2.0-24 AddressReleased: released, because the node of the pod was deleted: 192.0.2.6 of pod " + ns + "/moved",
		"Normal 192.0.2.0-24 AddressReleased: released, because the pod has ended: 192.0.2.4 of pod " + ns + "/done; 192.0.2.5 of pod " + ns + "/failed",
		"Normal 192.0.2.0-24 AddressReleased: released, because the pod no longer exists: 192.0.2.2 of pod " + ns + "/gone; 192.0.2.3 of pod " + ns + "/namesake",
	}
	if diff := cmp.Diff(want, c.events); diff != "" {
		t.Error(diff)
	}
	if got := value(t, c.Metrics.releases).GetCounter().GetValue(); got != 6 {
		t.Errorf("%v are counted", got)
	}
	if got := value(t, c.Metrics.total.WithLabelValues("192.0.2.0-24")).GetGauge().GetValue(); got != 254 {
		t.Errorf("the pool has %v addresses", got)
	}
}

func value(t *testing.T, m prometheus.Metric) *dto.Metric {
	t.Helper()
	out := &dto.Metric{}
	if err := m.Write(out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReservationsThatAnAgentLeftAreReleased(t *testing.T) {
	c := newCluster(t)
	runs := c.pod("runs", corev1.PodRunning)
	c.assign("192.0.2.0/24", runs)
	for name, o := range map[string]whereabouts.Allocation{"192.0.2.9": runs, "192.0.2.10": c.owner("gone", "g")} {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"podref": o.PodRef, "containerid": o.ContainerID, "ifname": o.IfName, "podUID": o.PodUID, "node": o.Node}}}
		u.SetGroupVersionKind(store.KindReservation)
		u.SetNamespace(c.Controller.Namespace)
		u.SetName(name)
		if err := c.Client.Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	c.run(0)
	c.run(grace)
	if _, reservations := c.left("192.0.2.0-24"); !slices.Equal(reservations, []string{"192.0.2.1"}) {
		t.Errorf("left: %v", reservations)
	}
	if len(c.events) != 2 {
		t.Errorf("%q", c.events)
	}
}

func (c *cluster) intercept(f interceptor.Funcs) {
	c.t.Helper()
	direct, err := client.NewWithWatch(c.Config, client.Options{Scheme: c.Client.Scheme()})
	if err != nil {
		c.t.Fatal(err)
	}
	c.Controller.client = interceptor.NewClient(direct, f)
}

// A list that is older than the pod must not cost it its address.
func TestAnOldListReleasesNothing(t *testing.T) {
	c := newCluster(t)
	c.assign("192.0.2.0/24", c.pod("p", corev1.PodRunning))
	c.intercept(interceptor.Funcs{List: func(ctx context.Context, cl client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		if l.GetObjectKind().GroupVersionKind().Kind == "PodList" {
			return nil
		}
		return cl.List(ctx, l, opts...)
	}})
	c.nodes = nil // as old
	c.run(0)
	c.run(grace)
	if len(c.since) == 0 {
		t.Fatal("the list of pods is not used")
	}
	if pods, reservations := c.left("192.0.2.0-24"); len(pods) != 1 || len(reservations) != 1 || len(c.events) > 0 {
		t.Errorf("%v, %v, %v", pods, reservations, c.events)
	}
}

// A pod gets the address of one that is deleted between the read of the pool and its write.
func TestAnAddressThatIsAssignedMeanwhileIsNotReleased(t *testing.T) {
	c := newCluster(t)
	gone := c.owner("stateful", "old")
	c.assign("192.0.2.0/24", gone, c.owner("gone", "g"))
	c.run(0)
	next := c.pod("stateful", corev1.PodPending)
	next.ContainerID = gone.ContainerID
	interfered := false
	c.intercept(interceptor.Funcs{Patch: func(ctx context.Context, cl client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if !interfered {
			interfered = true
			c.assignAgain("192.0.2.0/24", next)
		}
		return cl.Patch(ctx, o, patch, opts...)
	}})
	c.run(grace)
	pods, reservations := c.left("192.0.2.0-24")
	if diff := cmp.Diff([]string{"stateful"}, pods) + cmp.Diff([]string{"192.0.2.1"}, reservations); diff != "" || !interfered {
		t.Error(diff)
	}
}

// assignAgain has an owner take over what it has.
func (c *cluster) assignAgain(network string, o whereabouts.Allocation) {
	c.t.Helper()
	r := whereabouts.Usable(parsePrefix(network))
	outcome, err := store.New(c.Client, c.Controller.Namespace, c.Log).Assign(c.t.Context(), whereabouts.Pool{Network: r.Network}, true, whereabouts.Request{Range: r, Owner: o})
	if err != nil || outcome.New {
		c.t.Fatal(outcome, err)
	}
}

func TestWithoutMultipleNetworksNothingIsRead(t *testing.T) {
	c := newCluster(t)
	c.enabled = false
	c.intercept(interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("a list is read")
	}})
	c.run(0)
}

// A pool that cannot be read stops the release of reservations, which would look as if they were left.
func TestAPoolThatCannotBeReadReleasesNothing(t *testing.T) {
	c := newCluster(t)
	c.assign("192.0.2.0/24", c.owner("gone", "g"))
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"range": "x", "allocations": map[string]any{}}}}
	u.SetGroupVersionKind(store.KindPool)
	u.SetNamespace(c.Controller.Namespace)
	u.SetName("x")
	if err := c.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err == nil || !strings.Contains(err.Error(), `IPPool x: range "x"`) {
		t.Error(err)
	}
}

func (c *cluster) definition(name, config string) {
	c.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": config}}}
	u.SetGroupVersionKind(kindDefinition)
	u.SetNamespace(c.Controller.Namespace)
	u.SetName(name)
	c.Create(c.t, u)
}

// slices returns who has which slice.
func (c *cluster) slices(name string) string {
	c.t.Helper()
	u, err := c.get(c.t.Context(), store.KindSlicePool, name)
	if err != nil {
		c.t.Fatal(err)
	}
	spec, slices, err := store.ReadSlices(u)
	if err != nil {
		c.t.Fatal(err)
	}
	out := spec.Range + " " + spec.SliceSize
	for _, s := range slices {
		out += " " + s.Node + "=" + s.Range
	}
	return out
}

func TestNodesHaveSlicesInBothFamilies(t *testing.T) {
	c := newCluster(t)
	c.definition("d", `{"name":"net","type":"macvlan","ipam":{"type":"whereabouts","ipRanges":[{"range":"192.0.2.0/28"},{"range":"fd00::/64"}],"node_slice_size":"/29"}}`)
	c.definition("other", `{"name":"net","type":"macvlan","ipam":{"type":"whereabouts","range":"10.0.0.0/24","node_slice_size":"/29"}}`)
	c.nodes = []string{"b", "a"}
	c.run(0)
	want := "192.0.2.0/28 /29 a=192.0.2.0/29 b=192.0.2.8/29"
	if got := c.slices("net"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := c.slices("net-fd00---64"), "fd00::/64 /125 a=fd00::/125 b=fd00::8/125"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(c.events) != 1 || !strings.Contains(c.events[0], "NodeSlicesConflict") || !strings.Contains(c.events[0], "set another network_name") {
		t.Errorf("%q", c.events)
	}
	c.nodes = []string{"a"}
	c.run(0)
	c.nodes = []string{"b", "a"} // it returns
	c.run(0)
	if got := c.slices("net"); got != want {
		t.Errorf("after a node returned: %s", got)
	}
	c.events = nil
	c.nodes = []string{"a", "b", "c"}
	c.run(0)
	if !slices.ContainsFunc(c.events, func(e string) bool {
		return strings.Contains(e, "NodeSlicesExhausted: the range 192.0.2.0/28 has no slice for c")
	}) {
		t.Errorf("%q", c.events)
	}
	c.nodes = []string{"a", "c"}
	c.run(0)
	if got, want := c.slices("net"), "192.0.2.0/28 /29 a=192.0.2.0/29 c=192.0.2.8/29"; got != want {
		t.Errorf("after another node took the slice: %s", got)
	}
}

func TestExhaustionIsReportedOnDefinitionsOnce(t *testing.T) {
	c := newCluster(t)
	c.definition("d", `{"type":"macvlan","ipam":{"type":"whereabouts","range":"192.0.2.0/30"}}`)
	c.assign("192.0.2.0/30", c.pod("p", ""), c.pod("q", ""))
	c.run(0)
	c.run(0)
	want := []string{fmt.Sprintf("Warning d AddressesExhausted: 2 of 2 addresses of IPPool %s/192.0.2.0-30 are in use; pods without an address do not start. Delete pods that need none, or extend the range", c.Controller.Namespace)}
	if diff := cmp.Diff(want, c.events); diff != "" {
		t.Error(diff)
	}
}

func TestTheControllerWaitsForItsKinds(t *testing.T) {
	needs := map[schema.GroupKind]bool{}
	for _, kind := range (&Controller{}).Specs()[0].Needs {
		needs[kind] = true
	}
	if len(needs) != 4 {
		t.Errorf("%v", slices.Collect(maps.Keys(needs)))
	}
}

// TestClusterWithoutDefinitionsIsReadOnce: nothing is read while there is no definition, but for what earlier ones may have left.
func TestClusterWithoutDefinitionsIsReadOnce(t *testing.T) {
	c := newCluster(t)
	defined, left, reads := false, false, 0
	c.idleState.defined = func(context.Context) (bool, error) { return defined, nil }
	c.intercept(interceptor.Funcs{List: func(ctx context.Context, w client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		reads++
		return w.List(ctx, l, o...)
	}})
	for _, step := range []struct {
		why             string
		after           time.Duration
		defined, left   bool
		reads, wakes    bool
		reconcilesAgain bool
	}{
		{why: "after the start there is time", wakes: true, reconcilesAgain: true},
		{why: "a node that is created changes nothing", after: time.Second, wakes: true, reconcilesAgain: true},
		{why: "addresses may be left", after: interval, left: true, reads: true, wakes: true, reconcilesAgain: true},
		{why: "they are, and are watched", after: interval, left: true, reads: true, wakes: true, reconcilesAgain: true},
		{why: "they were released", after: interval, reads: true, wakes: true, reconcilesAgain: true},
		{why: "nothing is left", after: interval, wakes: true},
		{why: "a configuration is applied", after: time.Hour, wakes: true},
		{why: "a definition is created", defined: true, reads: true, reconcilesAgain: true},
		{why: "definitions stay", after: interval, defined: true, reads: true, reconcilesAgain: true},
		{why: "the last one is deleted", after: interval, wakes: true, reconcilesAgain: true},
	} {
		switch {
		case step.left && !left:
			c.assign("192.0.2.0/28", c.owner("gone", "uid"))
		case !step.left:
			for _, kind := range []schema.GroupVersionKind{store.KindPool, store.KindReservation} {
				if err := c.Client.DeleteAllOf(t.Context(), unstructuredOf(kind, ""), client.InNamespace(c.Controller.Namespace)); err != nil {
					t.Fatal(err)
				}
			}
		}
		left = step.left
		defined, reads = step.defined, 0
		c.now = c.now.Add(step.after)
		result, err := c.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatal(err)
		}
		wakes := c.idleState.whenWaiting().Create(event.CreateEvent{Object: definition()})
		if reads > 0 != step.reads || wakes != step.wakes || result.RequeueAfter > 0 != step.reconcilesAgain {
			t.Errorf("%s: %d reads, a definition wakes: %t, again after %s", step.why, reads, wakes, result.RequeueAfter)
		}
	}
}
