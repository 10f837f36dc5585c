package single

import (
	"net/netip"
	"testing"
)

func TestEveryPodReachesEveryPodByAddress(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	for fromNode, from := range pods {
		for toNode, to := range pods {
			if err := lab.Ping(t.Context(), from, to.Status.PodIP); err != nil {
				t.Errorf("pod on %s to pod on %s: %v", fromNode, toNode, err)
			}
			seen, err := lab.Get(t.Context(), from, "http://"+to.Status.PodIP+":8080/clientip")
			if err != nil {
				t.Errorf("pod on %s to pod on %s: %v", fromNode, toNode, err)
				continue
			}
			if client, err := netip.ParseAddrPort(seen); err != nil || client.Addr().String() != from.Status.PodIP {
				t.Errorf("pod on %s sees its peer on %s as %q; pods keep their address %s", toNode, fromNode, seen, from.Status.PodIP)
			}
		}
	}
}

func TestPodsOfOneNodeShareItsSubnetAndNoOtherNodeHasIt(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	owner := map[netip.Prefix]string{}
	for node, pod := range pods {
		subnet := netip.PrefixFrom(netip.MustParseAddr(pod.Status.PodIP), 24).Masked()
		if other, taken := owner[subnet]; taken {
			t.Errorf("nodes %s and %s both give addresses of %s", node, other, subnet)
		}
		owner[subnet] = node
		if !netip.MustParsePrefix("10.244.0.0/16").Contains(subnet.Addr()) {
			t.Errorf("node %s gives addresses of %s, which is outside the cluster network", node, subnet)
		}
	}
}

func TestPodTrafficToOutsideLeavesWithTheNodesAddress(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	pod := pods["worker-0"]
	// The other node's kubelet is outside the pod network: it must be reachable, which needs masquerade.
	out, err := lab.Exec(t.Context(), pod, "curl -sk -o /dev/null -w '%{http_code}' --max-time 20 https://"+pods["worker-1"].Status.HostIP+":10250/healthz")
	if err != nil || out != "401" {
		t.Errorf("kubelet of worker-1 from a pod on worker-0: status %q, %v; want 401", out, err)
	}
}
