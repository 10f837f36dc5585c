package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// outsidePort is the port of a server on the network of the control-plane node, which is not a pod and hence outside of the cluster network.
const outsidePort = 19080

// freeAddress returns an unused address of the nodes' network, and the address of the control-plane node.
func freeAddress(t *testing.T) (free, node netip.Addr) {
	t.Helper()
	address := strings.TrimSpace(kubectl(t, "get", "node", "cp-0", "-o", `jsonpath={.status.addresses[?(@.type=="InternalIP")].address}`))
	out, err := lab.Lab(t.Context(), "exec", "cp-0", "--", "ip", "-4", "-o", "address", "show", "to", address)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(out) {
		if p, err := netip.ParsePrefix(field); err == nil {
			last := p.Masked().Addr().As4()
			last[3] |= byte(0xff >> max(0, p.Bits()-24))
			return netip.AddrFrom4(last).Prev().Prev().Prev(), p.Addr()
		}
	}
	t.Fatalf("no network in %q", out)
	return netip.Addr{}, netip.Addr{}
}

// serveOutside runs a server on the network of the control-plane node, which captures the packets to its port. The returned function fails the test if
// one of them, TCP or UDP, has another source than the given address.
func serveOutside(t *testing.T, namespace string) (onlyFrom func(netip.Addr)) {
	t.Helper()
	server := kit.ServerPod(namespace, "outside", "cp-0", nil)
	server.Spec.HostNetwork = true
	server.Spec.Containers[0].Args = []string{"netexec", fmt.Sprint("--http-port=", outsidePort), "--udp-port=-1"}
	server, err := lab.RunPod(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	capture := fmt.Sprintf("tcpdump -Z root -i eth0 -U -w /tmp/packets dst port %d >/tmp/tcpdump 2>&1 & while ! [ -s /tmp/packets ]; do sleep 0.1; done", outsidePort)
	if _, err := lab.Exec(t.Context(), server, capture); err != nil {
		t.Fatal(err)
	}
	return func(address netip.Addr) {
		t.Helper()
		out, err := lab.Exec(t.Context(), server, "tcpdump -Z root -r /tmp/packets -n -q | awk '{sub(/\\.[0-9]+$/, \"\", $3); print $3, $6}' | sort | uniq -c")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("packets by source and protocol:\n%s", out)
		if out == "" {
			t.Error("the capture is empty")
		}
		for _, line := range strings.Split(out, "\n") {
			if f := strings.Fields(line); len(f) < 2 || f[1] != address.String() {
				t.Errorf("a packet left with another source than %s: %s", address, line)
			}
		}
	}
}

// egressCIDRs sets those of a node.
func egressCIDRs(ctx context.Context, node, list string) error {
	_, err := lab.Kubectl(ctx, "patch", "hostsubnet", node, "--type=merge", "-p", `{"egressCIDRs":[`+list+`]}`)
	return err
}

// Pods of a namespace have its egress IP outside of the cluster network, also after the node with the address loses power.
func TestTrafficOfANamespaceHasItsEgressIP(t *testing.T) {
	if !network.NetNamespaces {
		return
	}
	ns := lab.Namespace(t)
	address, outside := requestEgressIP(t, ns, "worker-1")
	onlyFrom := serveOutside(t, ns)
	client, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "client", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	seen := seenAs(client, outside, address)
	kit.Eventually(t, time.Minute, "traffic of the namespace leaves by worker-1 with its egress IP", seen)
	if err := egressCIDRs(t.Context(), "worker-0", fmt.Sprintf(`"%s/32"`, address)); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Lab(t.Context(), "stop", "worker-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := lab.Lab(ctx, "start", "worker-1")
		ready := kit.Poll(ctx, 4*time.Minute, func(ctx context.Context) error { return lab.NodeReady(ctx, "worker-1") })
		if err := errors.Join(err, ready); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	kit.Eventually(t, time.Minute, "traffic leaves by another node after worker-1 has lost power", seen)
	t.Logf("seen with %s again %v after the power was off", address, time.Since(began).Round(100*time.Millisecond))
	onlyFrom(address)
}

// requestEgressIP has a namespace request an egress IP, which only the given node may have, and returns it with the address of the control-plane node. No node has
// it after the test.
func requestEgressIP(t *testing.T, namespace, node string) (address, outside netip.Addr) {
	t.Helper()
	address, outside = freeAddress(t)
	t.Cleanup(func() {
		// Nodes keep the addresses that were assigned from egressCIDRs.
		for _, node := range []string{"worker-0", "worker-1"} {
			kubectl(t, "patch", "hostsubnet", node, "--type=merge", "-p", `{"egressCIDRs":[],"egressIPs":[]}`)
		}
	})
	if err := egressCIDRs(t.Context(), node, fmt.Sprintf(`"%s/32"`, address)); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the controller creates the NetNamespace", func(ctx context.Context) error {
		_, err := lab.Kubectl(ctx, "patch", "netnamespace", namespace, "--type=merge", "-p", fmt.Sprintf(`{"egressIPs":["%s"]}`, address))
		return err
	})
	return address, outside
}

// While the only node with the egress IP of a namespace reboots, pods of the namespace on it and on another node send continuously: no packet leaves with the
// address of a node or of a pod, also before the agent of the rebooted node has started, and traffic continues afterwards.
func TestRebootOfAnEgressNodeRevealsNoOtherAddress(t *testing.T) {
	kit.Full(t)
	if !network.NetNamespaces {
		return
	}
	ns, clients := lab.Namespace(t), map[string]*corev1.Pod{}
	address, outside := requestEgressIP(t, ns, "worker-1")
	onlyFrom := serveOutside(t, ns)
	for _, node := range []string{"worker-0", "worker-1"} {
		client := kit.ServerPod(ns, "client-"+node, node, nil)
		// curl sends packets of TCP, dig of UDP. They begin when the container starts, also after the reboot.
		client.Spec.Containers[0].Command, client.Spec.Containers[0].Args = []string{"sh", "-c"}, []string{fmt.Sprintf(
			`while sleep 0.1; do curl -s --max-time 1 http://%[1]s:%[2]d/hostname; dig @%[1]s -p %[2]d +tries=1 +timeout=1 test; done >/dev/null 2>&1`, outside, outsidePort)}
		var err error
		if clients[node], err = lab.RunPod(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	for node, client := range clients {
		kit.Eventually(t, time.Minute, "traffic from "+node+" has the egress IP", seenAs(client, outside, address))
	}
	started := func(ctx context.Context) (string, error) {
		return lab.Kubectl(ctx, "get", "pod", "-n", ns, "client-worker-1", "-o", "jsonpath={.status.containerStatuses[0].state.running.startedAt}")
	}
	before, err := started(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Lab(t.Context(), "stop", "worker-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := lab.Lab(context.Background(), "start", "worker-1"); err != nil { // it does not change a node that is on
			t.Error(err)
		}
	})
	// The other node detects this within about four seconds, and the cluster after about a minute.
	kit.Eventually(t, 3*time.Minute, "the node is not ready", denied(func(ctx context.Context) error { return lab.NodeReady(ctx, "worker-1") }))
	if err := denied(seenAs(clients["worker-0"], outside, address))(t.Context()); err != nil {
		t.Errorf("without a node that has the egress IP: %v", err)
	}
	if _, err := lab.Lab(t.Context(), "start", "worker-1"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 4*time.Minute, "the node is ready again", lab.NodesReady)
	kit.Eventually(t, 2*time.Minute, "the pod of the rebooted node has started again", func(ctx context.Context) error {
		if now, err := started(ctx); err != nil || now == "" || now == before {
			return errors.Join(fmt.Errorf("started at %q, before at %q", now, before), err)
		}
		return nil
	})
	for node, client := range clients {
		kit.Eventually(t, time.Minute, "traffic from "+node+" has the egress IP again", seenAs(client, outside, address))
	}
	onlyFrom(address)
	kit.Eventually(t, 2*time.Minute, "the network is settled again", lab.Settled)
}

// seenAs returns nil if a server outside of the cluster network sees an address.
func seenAs(client *corev1.Pod, outside, want netip.Addr) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := lab.Get(ctx, client, fmt.Sprintf("http://%s:%d/clientip", outside, outsidePort))
		if err != nil {
			return err
		}
		if a, err := netip.ParseAddrPort(got); err != nil || a.Addr() != want {
			return fmt.Errorf("the server outside sees %s, not %s", got, want)
		}
		return nil
	}
}
