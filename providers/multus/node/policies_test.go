package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	clientevents "k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// policyNode is a node whose shim attaches pods by real plugins, with the daemon of policies. Its interface up0 leads outside.
type policyNode struct {
	t             *testing.T
	e             *enforcer
	kube          *fake.Clientset
	dyn           *dynamicfake.FakeDynamicClient
	events        *clientevents.FakeRecorder
	node, outside netns.Namespace
	shim          attach.Shim
	path          string
	plan          wire.Plan
}

func newPolicyNode(t *testing.T) *policyNode {
	t.Helper()
	n := &policyNode{t: t, kube: fake.NewClientset(), events: clientevents.NewFakeRecorder(20), node: netns.New(t, "node"), outside: netns.New(t, "outside")}
	n.node.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "eth0", "netns", n.outside.Name)
	n.node.Run("ip", "link", "set", "up0", "up")
	n.outside.Run("ip", "link", "set", "eth0", "up")
	n.outside.Run("ip", "addr", "add", "192.0.2.1/24", "dev", "eth0")
	n.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resourcePolicies: "MultiNetworkPolicyList"})
	config := agentconfig.Default()
	config.StateDir, config.PolicyRules, config.PolicyDir = t.TempDir(), t.TempDir(), t.TempDir()
	e, err := newEnforcer(agent.Process{Node: "n1", Log: slog.New(slog.DiscardHandler)}, config, n.kube, n.dyn)
	if err != nil {
		t.Fatal(err)
	}
	e.events = &events{n.events}
	o := e.objects
	o.controllers = nil // the test fills the stores
	o.pods, o.namespaces, o.policies = cache.NewStore(cache.MetaNamespaceKeyFunc), cache.NewStore(cache.MetaNamespaceKeyFunc), cache.NewStore(cache.MetaNamespaceKeyFunc)
	n.e = e
	n.shim = attach.Shim{State: config.StateDir, Run: t.TempDir(), Multus: t.TempDir(), DeviceInfo: t.TempDir(), Now: time.Now, Ask: n.ask}
	n.plugins()
	return n
}

// plugins run on the node, not in the namespace of the test.
func (n *policyNode) plugins() {
	n.t.Helper()
	names := []string{"macvlan", "bridge", "ptp", "tap", "host-device"}
	dir := assets.Dir(n.t, append([]string{"static"}, names...)...)
	n.path = n.t.TempDir()
	for _, name := range names {
		script := "#!/bin/sh\nexec nsenter --net=" + n.node.Path() + " " + filepath.Join(dir, name) + "\n"
		if err := os.WriteFile(filepath.Join(n.path, name), []byte(script), 0o755); err != nil {
			n.t.Fatal(err)
		}
	}
	def := "#!/bin/sh\n[ \"$CNI_COMMAND\" = ADD ] && echo '{\"cniVersion\":\"1.0.0\",\"ips\":[]}'\nexit 0\n"
	if err := os.WriteFile(filepath.Join(n.path, "default"), []byte(def), 0o755); err != nil {
		n.t.Fatal(err)
	}
	n.path += ":" + dir
}

// ask answers the shim as both daemons do.
func (n *policyNode) ask(ctx context.Context, command string, message, into any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	switch command {
	case wire.CommandPlan:
		plan, err := json.Marshal(n.plan)
		if err != nil {
			return err
		}
		return json.Unmarshal(plan, into)
	case wire.CommandPolicies, wire.CommandCheckPolicies:
		_, err := n.e.do(ctx, cniproto.Request{Command: command, Config: raw})
		return err
	}
	return nil
}

// sandbox is a pod of the node.
type sandbox struct {
	netns.Namespace
	id   string
	node *policyNode
}

func (s sandbox) do(command string) error {
	own := `{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"default"}]}`
	conf, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": "pods", "type": delegate.Shim, "delegate": json.RawMessage(own),
		"runtimeConfig": map[string]any{delegate.CapabilityAnnotations: map[string]string{wire.AnnotationNetworks: "lan"}}})
	if err != nil {
		return err
	}
	_, err = s.node.shim.Do(context.Background(), cniproto.Request{Command: command, ContainerID: s.id, NetNS: s.Path(), IfName: "eth0", Path: s.node.path, Config: conf,
		Args: "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=" + s.id + ";K8S_POD_UID=" + s.id, Timeout: time.Minute})
	return err
}

// pod creates a pod and its sandbox, without attaching it.
func (n *policyNode) pod(name string, labels map[string]string) sandbox {
	n.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: labels}}
	if err := n.kube.Tracker().Add(p); err != nil {
		n.t.Fatal(err)
	}
	return sandbox{netns.New(n.t, name), name, n}
}

// policy creates or replaces a policy.
func (n *policyNode) policy(name, networks string, spec map[string]any) {
	n.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion("k8s.cni.cncf.io/v1beta1")
	u.SetKind("MultiNetworkPolicy")
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetUID(types.UID(name))
	u.SetResourceVersion("1")
	u.SetAnnotations(map[string]string{policy.AnnotationFor: networks})
	if err := n.dyn.Tracker().Delete(resourcePolicies, "ns", name); err == nil {
		u.SetResourceVersion("2")
	}
	if err := n.dyn.Tracker().Create(resourcePolicies, u, "ns"); err != nil {
		n.t.Fatal(err)
	}
	if err := n.e.objects.policies.Add(u); err != nil {
		n.t.Fatal(err)
	}
	n.e.objects.note(u, u)
}

func (n *policyNode) lan(config string) {
	n.plan = wire.Plan{Policies: true, Attachments: []wire.Attachment{{Network: "ns/lan", Interface: "net1", List: json.RawMessage(config)}}}
}

// macvlanConfig is a network on up0 with one address.
const macvlanConfig = `{"cniVersion":"1.0.0","name":"lan","plugins":[{"type":"macvlan","master":"up0","mode":"bridge","ipam":{"type":"static","addresses":[{"address":"192.0.2.9/24"}]}}]}`

var denyAll = map[string]any{"podSelector": map[string]any{}, "policyTypes": []any{"Ingress", "Egress"}}

// starts is how often a pod starts in TestPoliciesApplyToTheFirstPacketOfAPod. The promise is 1,000, as make e2e-all sets CNO_POLICY_STARTS; fewer show the
// same in less time.
func starts(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("CNO_POLICY_STARTS"))
	if err != nil {
		return 20
	}
	return n
}

func TestPoliciesApplyToTheFirstPacketOfAPod(t *testing.T) {
	n := newPolicyNode(t)
	n.lan(macvlanConfig)
	seen := n.count("192.0.2.1:9")
	stop := n.flood("192.0.2.9:9")
	defer stop()
	n.policy("deny", "lan", denyAll)
	for i := range starts(t) {
		if got := n.start(fmt.Sprintf("pod-%d", i)); got > 0 {
			t.Fatalf("start %d: the pod got %d packets", i, got)
		}
	}
	if got := seen(); got > 0 {
		t.Errorf("%d packets of pods arrived outside", got)
	}
	// Without the rules both arrive, so that the test would see them.
	n.plan.Policies = false
	got := 0
	eventually.Holds(t, "packets arrive in both directions without a policy", func() (string, bool) {
		got += n.start(fmt.Sprintf("control-%d", time.Now().UnixNano()))
		return fmt.Sprintf("%d in, %d out", got, seen()), got > 0 && seen() > 0
	})
}

// count counts the packets that come to a port outside.
func (n *policyNode) count(address string) (seen func() int) {
	n.t.Helper()
	var arrived atomic.Int64
	var conn net.PacketConn
	err := ns.WithNetNSPath(n.outside.Path(), func(ns.NetNS) (err error) {
		conn, err = net.ListenPacket("udp", address)
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = conn.Close() })
	go func() {
		for buffer := make([]byte, 16); ; {
			if _, _, err := conn.ReadFrom(buffer); err != nil {
				return
			}
			arrived.Add(1)
		}
	}()
	return func() int { return int(arrived.Load()) }
}

// flood sends to an address from outside until it is stopped. The neighbor of the address is the MAC address that answers first.
func (n *policyNode) flood(to string) (stop func()) {
	n.t.Helper()
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() { _ = ns.WithNetNSPath(n.outside.Path(), func(ns.NetNS) error { return sendUntil(done, to) }) })
	return func() { close(done); group.Wait() }
}

// sendUntil sends packets all the time. Most fail, as there is no route yet or rules refuse them.
func sendUntil(done chan struct{}, to string) error {
	target, err := net.ResolveUDPAddr("udp", to)
	if err != nil {
		return err
	}
	conn, err := net.ListenPacket("udp", ":0")
	if err != nil {
		return err
	}
	for {
		select {
		case <-done:
			return conn.Close()
		default:
			_, _ = conn.WriteTo([]byte("x"), target)
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// forgetNeighbor removes the MAC address that the outside has for an address. An address without one is no error: the flood adds and ages entries at any moment.
func (n *policyNode) forgetNeighbor(address string) {
	n.t.Helper()
	err := ns.WithNetNSPath(n.outside.Path(), func(ns.NetNS) error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		err = netlink.NeighDel(&netlink.Neigh{LinkIndex: link.Attrs().Index, Family: netlink.FAMILY_V4, IP: net.ParseIP(address)})
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// start starts and ends a pod, which sends and listens from the moment when its network namespace exists, and returns how many packets it got.
func (n *policyNode) start(name string) int {
	n.t.Helper()
	pod := n.pod(name, nil)
	done := make(chan struct{})
	var group sync.WaitGroup
	var got atomic.Int64
	group.Go(func() {
		_ = ns.WithNetNSPath(pod.Path(), func(ns.NetNS) error { return sendUntil(done, "192.0.2.1:9") })
	})
	var conn net.PacketConn
	err := ns.WithNetNSPath(pod.Path(), func(ns.NetNS) (err error) {
		conn, err = net.ListenPacket("udp", ":9")
		return err
	})
	if err != nil {
		n.t.Fatal(err)
	}
	group.Go(func() {
		for buffer := make([]byte, 16); ; got.Add(1) {
			if _, _, err := conn.ReadFrom(buffer); err != nil {
				return
			}
		}
	})
	n.forgetNeighbor("192.0.2.9")
	if err := pod.do(cniproto.Add); err != nil {
		n.t.Error(err)
	}
	time.Sleep(5 * time.Millisecond) // the container runs
	close(done)
	if err := pod.do(cniproto.Delete); err != nil {
		n.t.Error(err)
	}
	_ = conn.Close()
	group.Wait()
	return int(got.Load())
}
