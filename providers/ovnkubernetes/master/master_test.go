package master_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/master"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/ovntest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{WithoutProjectCRDs: true}) }

// world is an API server with one instance of the master, and its databases.
type world struct {
	*ovntest.Central
	t      *testing.T
	server *apitest.Server
	config master.Config
	cancel context.CancelFunc
	done   chan error
}

func newWorld(t *testing.T, server *apitest.Server, lease string) *world {
	t.Helper()
	return newWorldOf(t, server, lease, nodeblocks.Pool{Network: netip.MustParsePrefix("10.128.0.0/14"), Length: 28}, nodeblocks.Pool{Network: netip.MustParsePrefix("fd01::/48"), Length: 64})
}

// newWorldOf is newWorld with other pools.
func newWorldOf(t *testing.T, server *apitest.Server, lease string, pools ...nodeblocks.Pool) *world {
	t.Helper()
	w := &world{Central: ovntest.Start(t), t: t, server: server}
	w.config = master.Config{
		Kube: server.Config, Node: "control-plane", LeaseNamespace: "default", LeaseName: lease,
		Pools:            pools,
		NorthboundSocket: w.NorthboundSocket(), SouthboundSocket: w.SouthboundSocket(), SouthboundControl: w.SouthboundControl(),
		SouthboundAddress: netip.MustParseAddr("127.0.0.1"), SouthboundPort: freePort(t),
		HealthAddress: fmt.Sprintf("127.0.0.1:%d", freePort(t)),
		Log:           slog.New(slog.NewTextHandler(log(), nil)),
	}
	w.start()
	t.Cleanup(w.stop)
	return w
}

func log() io.Writer {
	if testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

func freePort(t *testing.T) uint16 {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return netip.MustParseAddrPort(l.Addr().String()).Port()
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan error, 1)
	c := w.config
	c.Metrics = agent.NewMetrics("ovnkube_master", "test")
	go func() { w.done <- master.Run(ctx, c) }()
}

func (w *world) stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	if err := <-w.done; err != nil {
		w.t.Error(err)
	}
	w.cancel = nil
}

// open reports whether nodes reach the southbound database.
func (w *world) open() bool {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", w.config.SouthboundPort))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func (w *world) waitOpen(open bool) {
	w.t.Helper()
	eventually.Holds(w.t, fmt.Sprintf("the southbound database is open to nodes: %t", open), func() (string, bool) { return "", w.open() == open })
}

func (w *world) node(name, address string) *corev1.Node {
	w.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.server.Create(w.t, n)
	apitest.ChangeStatus(w.t, w.server.Client, n, func() {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	})
	return n
}

func (w *world) pod(namespace, name, node string) *corev1.Pod {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{
		NodeName: node, TerminationGracePeriodSeconds: new(int64), AutomountServiceAccountToken: new(bool),
		Containers: []corev1.Container{{Name: "a", Image: "registry.invalid/a"}},
	}}
	w.server.Create(w.t, p)
	return p
}

// network waits for a pod's annotation.
func (w *world) network(p *corev1.Pod) topology.Pod {
	w.t.Helper()
	var out topology.Pod
	eventually.Holds(w.t, "pod "+p.Name+" has addresses", func() (string, bool) {
		var live corev1.Pod
		if err := w.server.Client.Get(w.t.Context(), client.ObjectKeyFromObject(p), &live); err != nil {
			return err.Error(), false
		}
		var err error
		out, err = topology.DecodePod(live.Annotations[topology.PodNetworks])
		return fmt.Sprint(live.Annotations, err), err == nil
	})
	return out
}

func (w *world) blocks(node string) []netip.Prefix {
	w.t.Helper()
	var out []netip.Prefix
	eventually.Holds(w.t, "node "+node+" has blocks", func() (string, bool) {
		var live corev1.Node
		if err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Name: node}, &live); err != nil {
			return err.Error(), false
		}
		var err error
		out, err = topology.DecodeNodeSubnets(live.Annotations[topology.NodeSubnets])
		return fmt.Sprint(live.Annotations), err == nil
	})
	return out
}

func (w *world) port(p *corev1.Pod) string {
	return w.Northbound("--bare", "--columns=addresses", "find", "Logical_Switch_Port", "name="+topology.PodPort(p.Namespace, p.Name))
}

// waitPort waits until a pod's port has the pod's addresses.
func (w *world) waitPort(p *corev1.Pod, n topology.Pod) {
	w.t.Helper()
	want := n.MAC.String()
	for _, a := range n.Addresses {
		want += " " + a.Addr().String()
	}
	eventually.Holds(w.t, "the port of "+p.Name+" is in the northbound database", func() (string, bool) {
		have := strings.TrimSpace(w.port(p))
		return have + ", want " + want, have == want
	})
}

// get reads a page of the instance's health server.
func (w *world) get(path string) (int, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.config.HealthAddress+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func (w *world) delete(object client.Object) {
	w.t.Helper()
	if err := w.server.Client.Delete(w.t.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		w.t.Fatal(err)
	}
}

func TestPodsGetAddressesAndKeepThem(t *testing.T) {
	server := apitest.Shared(t)
	w := newWorld(t, server, "keep")
	w.node("keep1", "192.0.2.1")
	w.node("keep2", "192.0.2.2")
	one, two := w.blocks("keep1"), w.blocks("keep2")
	if len(one) != 2 || len(two) != 2 || one[0] == two[0] {
		t.Fatalf("blocks are %v and %v", one, two)
	}
	ns := server.Namespace(t)
	a, b := w.pod(ns, "a", "keep1"), w.pod(ns, "b", "keep1")
	first, second := w.network(a), w.network(b)
	if !one[0].Contains(first.Addresses[0].Addr()) || first.Addresses[0] == second.Addresses[0] {
		t.Fatalf("pods of block %s have %v and %v", one[0], first, second)
	}
	w.waitPort(a, first)
	w.waitOpen(true)
	for _, node := range []string{"keep1", "keep2"} {
		eventually.Holds(t, "node "+node+" has a chassis", func() (string, bool) {
			have := w.Southbound("--bare", "--columns=hostname", "find", "Chassis", "name="+node)
			return have, strings.Contains(have, node)
		})
	}

	t.Run("it is ready, and has metrics", func(t *testing.T) {
		eventually.Holds(t, "readiness", func() (string, bool) { code, text := w.get("/readyz"); return text, code == http.StatusOK })
		_, text := w.get("/metrics")
		for _, want := range []string{"ovnkube_master_leader 1", `ovnkube_master_programming_seconds_count{kind="pod"}`, "ovnkube_master_northbound_connections 1", "ovnkube_master_rows"} {
			if !strings.Contains(text, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
	})
	t.Run("a restart changes nothing", func(t *testing.T) {
		w.stop()
		w.waitOpen(false)
		// Columns that the master writes: ovn-northd writes whether a port is up.
		ports := func() string {
			return w.Northbound("--columns=_uuid,name,type,addresses,port_security,options,external_ids", "list", "Logical_Switch_Port")
		}
		before := ports()
		w.start()
		w.waitOpen(true)
		if after := ports(); after != before {
			t.Errorf("ports were\n%s and are\n%s", before, after)
		}
		if again := w.network(a); again.Addresses[0] != first.Addresses[0] {
			t.Errorf("the pod had %v and has %v", first, again)
		}
	})
	t.Run("a lost northbound database is written again, and nodes do not see it empty", func(t *testing.T) {
		w.LoseNorthbound()
		w.waitPort(a, first)
		w.waitPort(b, second)
		w.waitOpen(true)
		w.Realize()
		if have := w.Southbound("--bare", "--columns=mac", "find", "Port_Binding", "logical_port="+topology.PodPort(ns, "a")); !strings.Contains(have, first.MAC.String()) {
			t.Errorf("the southbound database is open, and has %q for the pod", have)
		}
	})
	t.Run("rows that a third party deletes are restored", func(t *testing.T) {
		w.Northbound("lsp-del", topology.PodPort(ns, "a"))
		w.waitPort(a, first)
	})
	t.Run("a node that is deleted takes its switch and chassis with it", func(t *testing.T) {
		w.delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "keep2"}})
		eventually.Holds(t, "the switch and the chassis are deleted", func() (string, bool) {
			have := w.Northbound("--bare", "--columns=name", "list", "Logical_Switch") + w.Southbound("--bare", "--columns=name", "list", "Chassis")
			return have, !strings.Contains(have, "keep2")
		})
	})
	t.Run("the addresses of a pod that has ended are given to others", func(t *testing.T) {
		apitest.ChangeStatus(t, server.Client, a, func() { a.Status.Phase = corev1.PodSucceeded })
		eventually.Holds(t, "the port is deleted", func() (string, bool) { have := w.port(a); return have, strings.TrimSpace(have) == "" })
	})
}

// TestSecondIPFamilyIsAddedAndRemoved adds IPv6 to a cluster and removes it. Pods that run keep what their interfaces have.
func TestSecondIPFamilyIsAddedAndRemoved(t *testing.T) {
	server := apitest.Shared(t)
	w := newWorld(t, server, "families")
	both := w.config.Pools
	restart := func(pools []nodeblocks.Pool) {
		t.Helper()
		w.stop()
		w.config.Pools = pools
		w.start()
		w.waitOpen(true)
	}
	blocks := func(want int) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("the node has %d blocks", want), func() (string, bool) {
			have := w.blocks("families1")
			return fmt.Sprint(have), len(have) == want
		})
	}
	has := func(p *corev1.Pod, want ...string) {
		t.Helper()
		eventually.Holds(t, fmt.Sprintf("pod %s has %v", p.Name, want), func() (string, bool) {
			var have []string
			for _, a := range w.network(p).Addresses {
				have = append(have, a.Addr().String())
			}
			return fmt.Sprint(have), slices.Equal(have, want)
		})
		w.waitPort(p, w.network(p))
	}
	restart(both[:1])
	w.node("families1", "192.0.2.1")
	blocks(1)
	ns := server.Namespace(t)
	old := w.pod(ns, "old", "families1")
	four := w.network(old).Addresses[0].Addr().String()
	has(old, four)

	restart(both)
	blocks(2)
	later := w.pod(ns, "later", "families1")
	if n := w.network(later); len(n.Addresses) != 2 {
		t.Fatalf("a pod that was started afterwards has %v", n.Addresses)
	}
	has(old, four)

	remains := w.network(later).Addresses[0].Addr().String()
	restart(both[:1])
	blocks(1)
	has(later, remains)
	has(old, four)
}

// TestNoAddressIsAssignedTwice creates and deletes pods in a small block, restarts the master meanwhile, and fills the block.
func TestNoAddressIsAssignedTwice(t *testing.T) {
	server := apitest.Shared(t)
	w := newWorld(t, server, "twice")
	w.node("twice", "192.0.2.9")
	ns := server.Namespace(t)
	const room = 16 - 4 // of a /28: not the first three addresses, and not the last one
	var pods []*corev1.Pod
	check := func() {
		t.Helper()
		owner := map[netip.Addr]string{}
		for _, p := range pods {
			a := w.network(p).Addresses[0].Addr()
			if other := owner[a]; other != "" {
				t.Fatalf("pods %s and %s have %s", p.Name, other, a)
			}
			owner[a] = p.Name
		}
	}
	for round := range 6 {
		for n := len(pods); n < room; n++ {
			pods = append(pods, w.pod(ns, fmt.Sprintf("p%d-%d", round, n), "twice"))
			if n == room-2 && round%2 == 0 {
				w.stop()
				w.start()
			}
		}
		check()
		for range 5 {
			w.delete(pods[round%len(pods)])
			pods = append(pods[:round%len(pods)], pods[round%len(pods)+1:]...)
		}
	}
	for n := len(pods); n < room; n++ {
		pods = append(pods, w.pod(ns, fmt.Sprintf("last-%d", n), "twice"))
	}
	check()
	late := w.pod(ns, "late", "twice")
	eventually.Holds(t, "an event names the node and the block", func() (string, bool) {
		var events eventsv1.EventList
		if err := server.Client.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
			return err.Error(), false
		}
		text := ""
		for _, e := range events.Items {
			text += e.Regarding.Name + ": " + e.Note + "\n"
		}
		return text, strings.Contains(text, "late: pod has no address: node twice: block "+w.blocks("twice")[0].String()+" has no free address")
	})
	w.delete(pods[0])
	pods = append(pods[1:], late)
	check()
}

func TestAnotherInstanceTakesOver(t *testing.T) {
	server := apitest.Shared(t)
	first := newWorld(t, server, "takeover")
	first.node("takeover", "192.0.2.17")
	first.waitOpen(true)
	ns := server.Namespace(t)
	p := first.pod(ns, "p", "takeover")
	n := first.network(p)
	second := newWorld(t, server, "takeover")
	if second.open() {
		t.Fatal("an instance without the lease is open to nodes")
	}
	first.stop()
	if first.open() {
		t.Error("the instance that stopped is open to nodes")
	}
	second.waitOpen(true)
	second.waitPort(p, n)
	if again := second.network(p); again.Addresses[0] != n.Addresses[0] {
		t.Errorf("the pod had %v and has %v", n, again)
	}
}

func TestLostLeaseClosesTheDatabaseAndExits(t *testing.T) {
	server := apitest.Shared(t)
	w := newWorld(t, server, "lost")
	w.waitOpen(true)
	var lease coordinationv1.Lease
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "lost"}, &lease); err != nil {
		t.Fatal(err)
	}
	apitest.Change(t, server.Client, &lease, func() {
		lease.Spec.HolderIdentity = new("another")
		lease.Spec.LeaseDurationSeconds = new(int32(3600))
	})
	if err := <-w.done; err == nil || !strings.Contains(err.Error(), "lease was lost") {
		t.Errorf("the process ends with %v", err)
	}
	w.cancel()
	w.cancel = nil
	if w.open() {
		t.Error("the database is open to nodes")
	}
}

func TestInvalidLoggingAnnotationHasAnEvent(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	w := newWorld(t, server, "messages")
	server.Create(t, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{}},
	}})
	annotate := func(value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, topology.ACLLogging, value)
		if err := server.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	severities := func(want string) {
		t.Helper()
		eventually.Holds(t, "the severities are "+want, func() (string, bool) {
			out := strings.Fields(w.Northbound("--bare", "--columns=severity", "find", "ACL", "log=true"))
			slices.Sort(out)
			return strings.Join(out, " "), strings.Join(out, " ") == want
		})
	}
	annotate(`{"deny":"alert","allow":"notice"}`)
	severities("alert notice")
	annotate(`{"deny":"alert","allow":"loud"}`)
	severities("alert")
	annotate(`{"deny":"alert","allow":"shrill"}`)
	for _, severity := range []string{"loud", "shrill"} {
		eventually.Holds(t, "an event names the severity "+severity, func() (string, bool) {
			var events eventsv1.EventList
			if err := server.Client.List(t.Context(), &events); err != nil {
				return err.Error(), false
			}
			for _, e := range events.Items {
				if e.Regarding.Kind == "Namespace" && e.Regarding.Name == ns && e.Reason == "InvalidACLLogging" && strings.Contains(e.Note, `allow: "`+severity+`" is not one of alert`) {
					return "", true
				}
			}
			return fmt.Sprint(len(events.Items)), false
		})
	}
}

// TestANodeWithoutABlockGetsThatOfADeletedNode: a pool with a single block for nodes has two nodes.
func TestANodeWithoutABlockGetsThatOfADeletedNode(t *testing.T) {
	server := apitest.Shared(t)
	w := newWorldOf(t, server, "exhausted", nodeblocks.Pool{Network: netip.MustParsePrefix("10.128.0.0/27"), Length: 28})
	first := w.node("exhausted1", "192.0.2.65")
	block := w.blocks("exhausted1")
	w.node("exhausted2", "192.0.2.66")
	waiting := w.pod(server.Namespace(t), "waiting", "exhausted2")
	eventually.Holds(t, "an event on the node", func() (string, bool) {
		var events eventsv1.EventList
		err := server.Client.List(t.Context(), &events)
		for _, e := range events.Items {
			if e.Reason == "BlocksExhausted" && e.Regarding.Name == "exhausted2" && strings.Contains(e.Note, "add a cluster network, or remove nodes") {
				return "", true
			}
		}
		return fmt.Sprint(len(events.Items), err), false
	})
	eventually.Holds(t, "the instance reports the node", func() (string, bool) {
		_, text := w.get("/readyz")
		return text, strings.Contains(text, "exhausted2")
	})
	w.delete(first)
	if got := w.blocks("exhausted2"); !slices.Equal(got, block) {
		t.Errorf("the node has %v, the deleted one had %v", got, block)
	}
	w.waitPort(waiting, w.network(waiting))
	eventually.Holds(t, "the problem is resolved", func() (string, bool) {
		_, text := w.get("/readyz")
		return text, !strings.Contains(text, "exhausted2")
	})
}
