package controller

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// maxNamed is the maximum number of nodes named in a finding; the others are counted.
const maxNamed = status.Named

// agentFindings returns the findings in the agents' reports: one of each kind, with a sentence for each node. It omits unresponsive members in down, which the
// operator reports once instead of for each node.
func agentFindings(s store, nodes map[string]etcdmanager.Node, down map[string]bool) []status.Finding {
	var offLink, foreign, conflicts, detached, errs, silent []string
	for _, name := range sorted(s.agents) {
		a := s.agents[name]
		if _, exists := nodes[name]; !exists {
			continue
		}
		if len(a.OffLink) > 0 {
			offLink = append(offLink, fmt.Sprintf("node %s cannot route to %s: not on the link of its interface %s (address %s)", name, peers(a.OffLink), a.Interface, a.PublicIP))
		}
		if len(a.ForeignBackend) > 0 {
			foreign = append(foreign, fmt.Sprintf("node %s uses %s and cannot reach %s", name, a.Backend, peers(a.ForeignBackend)))
		}
		if len(a.ConflictingCNI) > 0 {
			conflicts = append(conflicts, fmt.Sprintf("node %s has %s, which its container runtime reads before flannel's configuration", name, strings.Join(a.ConflictingCNI, ", ")))
		}
		if a.DetachedPods > 0 {
			sentence := fmt.Sprintf("node %s has %d pods without a connection to the network", name, a.DetachedPods)
			if len(a.Detached) > 0 {
				sentence += ": " + phrase.Names(a.Detached, maxNamed)
			}
			detached = append(detached, sentence)
		}
		for _, address := range a.UnansweredEtcd {
			if !down[address] {
				errs = append(errs, fmt.Sprintf("node %s: %s", name, etcdclient.TimeoutMessage(address)))
			}
		}
		for _, e := range a.Errors {
			errs = append(errs, fmt.Sprintf("node %s: %s", name, e))
		}
	}
	for _, name := range sorted(s.reservations) {
		if _, reports := s.agents[name]; !reports && nodes[name].Ready {
			silent = append(silent, fmt.Sprintf("node %s is Ready and holds %s, but its agent has not reported for %d minutes: it reaches no member of etcd, or does not run",
				name, s.reservations[name].Subnet, int(agentconfig.ReportTTL.Minutes())))
		}
	}
	var out []status.Finding
	for _, k := range []struct {
		reason    string
		sentences []string
		wayOut    string
		lasting   bool // it does not resolve automatically
	}{
		{"PeersOffLink", offLink, "host-gw needs all nodes on one link; set spec.defaultNetwork.flannelConfig.interface to the one that they share, or install with backend vxlan", true},
		{"PeersOtherBackend", foreign, "nodes with different backends do not reach one another; wait for the rollout of flanneld, or restart its pods on these nodes", false},
		{"ConflictingCNI", conflicts, "remove the file, or what writes it", true},
		{"PodsDetached", detached, "they started before the network was installed again, or before their bridge was deleted; delete them, or drain these nodes, so that they start again " +
			"(kubectl get pods -A --field-selector spec.nodeName=NODE shows their age)", false},
		{"AgentErrors", errs, "", false},
		{"AgentSilent", silent, "read the log of the flanneld pod on that node, which names the addresses of etcd that it tries, and allow their ports in the firewalls between the nodes", false},
		{"EtcdValues", s.broken, "delete the key; its node writes it again", false},
	} {
		if len(k.sentences) > 0 {
			f := finding(status.Degraded, k.reason, status.Sentence(k.sentences, k.wayOut))
			f.Immediate = k.lasting
			out = append(out, f)
		}
	}
	return out
}

func peers(list []agentconfig.Peer) string {
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return phrase.Names(out, maxNamed)
}
