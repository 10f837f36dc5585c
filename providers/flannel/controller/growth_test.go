package controller

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// TestTheNetworkGrowsInEtcdOnceEveryNodeKnowsIt is the order that keeps traffic: nodes choose subnets from what is in
// etcd, so the larger network gets there last.
func TestTheNetworkGrowsInEtcdOnceEveryNodeKnowsIt(t *testing.T) {
	w, etcd := plain(t)
	const old, grown = `"Network":"10.128.0.0/14"`, `"Network":"10.128.0.0/12"`
	w.Node("one", 1, false)
	w.Node("two", 2, false)
	away := w.Node("away", 3, false)
	w.Until("the network configuration is written", func() bool { return strings.Contains(kept(t, etcd)["config"], old) })
	takeSubnet(t, etcd, "one", "10.128.2.0/23", "127.0.1.1")
	takeSubnet(t, etcd, "two", "10.128.4.0/23", "127.0.1.2")
	takeSubnet(t, etcd, "away", "10.128.6.0/23", "127.0.1.3")
	away.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if err := w.API.Status().Update(t.Context(), away); err != nil {
		t.Fatal(err)
	}

	w.spec.ClusterNetwork[0].CIDR = "10.128.0.0/12"
	observe := func(node, subnet, address string) {
		tell(t, etcd, agentconfig.AgentStatus{Node: node, Ready: true, Backend: "host-gw", Interface: "eth0", Network: netip.MustParsePrefix("10.128.0.0/12"),
			Subnet: netip.MustParsePrefix(subnet), PublicIP: netip.MustParseAddr(address)})
	}
	hasMessage := func(words ...string) bool {
		return slices.ContainsFunc(w.Findings, func(f status.Finding) bool {
			return f.Effect == status.Progressing && f.Reason == "PoolGrows" &&
				!slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(f.Message, word) })
		})
	}
	w.Until("both nodes are waited for, and not the one that is away", func() bool {
		return hasMessage("from 10.128.0.0/14 to 10.128.0.0/12", "2 nodes remaining (one and two)")
	})
	observe("one", "10.128.2.0/23", "127.0.1.1")
	w.Restart() // the operator is killed in between
	w.Until("the last one is waited for", func() bool { return hasMessage("1 node remaining (two)") })
	if config := kept(t, etcd)["config"]; !strings.Contains(config, old) {
		t.Fatalf("subnets of what is new are given out although node two does not know it: %s", config)
	}
	observe("two", "10.128.4.0/23", "127.0.1.2")
	w.Until("the network has grown", func() bool { return strings.Contains(kept(t, etcd)["config"], grown) })
	w.Until("nothing is waited for", func() bool { return len(w.Findings) == 0 || !hasMessage() })
	if all := kept(t, etcd); all["subnets/10.128.2.0-23"] == "" || all["subnets/10.128.4.0-23"] == "" || all["subnets/10.128.6.0-23"] == "" {
		t.Errorf("a subnet was deleted: %v", all)
	}
}
