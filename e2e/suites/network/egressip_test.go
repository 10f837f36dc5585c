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

// serveOutside runs a server on the network of the control-plane node.
func serveOutside(t *testing.T, namespace string) {
	t.Helper()
	server := kit.ServerPod(namespace, "outside", "cp-0", nil)
	server.Spec.HostNetwork = true
	server.Spec.Containers[0].Args = []string{"netexec", fmt.Sprint("--http-port=", outsidePort), "--udp-port=-1"}
	if _, err := lab.RunPod(t.Context(), server); err != nil {
		t.Fatal(err)
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
	serveOutside(t, ns)
	client, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "client", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	address, outside := freeAddress(t)
	seen := seenAs(client, outside, address)
	quoted := fmt.Sprintf(`"%s/32"`, address)
	t.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(egressCIDRs(ctx, "worker-0", ""), egressCIDRs(ctx, "worker-1", "")); err != nil {
			t.Error(err)
		}
	})
	if err := egressCIDRs(t.Context(), "worker-1", quoted); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "patch", "netnamespace", ns, "--type=merge", "-p", fmt.Sprintf(`{"egressIPs":["%s"]}`, address))
	kit.Eventually(t, time.Minute, "traffic of the namespace leaves by worker-1 with its egress IP", seen)
	if err := egressCIDRs(t.Context(), "worker-0", quoted); err != nil {
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
