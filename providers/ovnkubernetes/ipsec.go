package ovnkubernetes

import (
	"context"
	"fmt"
	"slices"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

const (
	// ipsecName is the name of the DaemonSet of IPsec's agents.
	ipsecName = "ovn-ipsec"
	// ipsecTurn is after how long phases are observed again while they change, ipsecSteady while they do not.
	ipsecTurn, ipsecSteady = 5 * time.Second, time.Minute
	// mostNamed is how many nodes a sentence names.
	mostNamed = 3
)

// ipsecState is what is known of IPsec in the cluster.
type ipsecState struct {
	// fresh is true if the network is not installed yet.
	fresh bool
	// phase is the phase that nodes were given; empty if IPsec is off.
	phase agentconfig.Phase
	// ready are the names of nodes that are Ready, sorted. reports are those of agents, by node.
	ready   []string
	reports map[string]agentconfig.Report
}

// wantsIPsec reports whether a specification has nodes encrypt.
func wantsIPsec(spec *operatorv1.NetworkSpec) bool {
	c := settings(spec).IPsecConfig
	return c != nil && (c.Mode == osv1.IPsecModeFull || c.Mode == "")
}

// nextPhase returns the phase that nodes are to have, empty if IPsec is to be off, and a sentence on what is waited for. Nodes that are not Ready are not
// waited for.
func nextPhase(on bool, s ipsecState) (agentconfig.Phase, string) {
	switch {
	case on && s.phase == "" && s.fresh:
		return agentconfig.PhaseRequire, "" // no packet is ever in the clear
	case on && (s.phase == "" || s.phase == agentconfig.PhasePlain):
		return agentconfig.PhaseAccept, "OVN-Kubernetes turns IPsec on"
	case on && s.phase == agentconfig.PhaseAccept:
		if why := s.unencrypted(); why != "" {
			return s.phase, "OVN-Kubernetes requires encryption once all nodes encrypt; " + why
		}
		return agentconfig.PhaseRequire, ""
	case on || s.phase == "":
		return s.phase, ""
	}
	if s.phase == agentconfig.PhaseRequire {
		return agentconfig.PhaseAccept, "OVN-Kubernetes turns IPsec off"
	}
	if why := s.notIn(s.phase); why != "" {
		return s.phase, "OVN-Kubernetes turns IPsec off; " + why
	}
	if s.phase == agentconfig.PhaseAccept {
		return agentconfig.PhasePlain, "OVN-Kubernetes turns IPsec off"
	}
	return "", ""
}

// notIn names the nodes that are not in a phase, as a sentence; empty if all are.
func (s ipsecState) notIn(phase agentconfig.Phase) string {
	var names []string
	for _, n := range s.ready {
		if s.reports[n].Phase != phase {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("pods of %s on these nodes have yet to follow: %s", ipsecName, status.Names(names, mostNamed))
}

// unencrypted names the nodes that do not encrypt what they send to all others that are Ready, as a sentence; empty if all do.
func (s ipsecState) unencrypted() string {
	if why := s.notIn(agentconfig.PhaseAccept); why != "" {
		return why
	}
	pairs := s.withoutKeys()
	if len(pairs) == 0 {
		return ""
	}
	return "it is not encrypted from " + status.Names(pairs, mostNamed)
}

// withoutKeys are the pairs of nodes that are Ready of which the first one does not encrypt what it sends to the second one: "a to b".
func (s ipsecState) withoutKeys() []string {
	var pairs []string
	for _, n := range s.ready {
		r := s.reports[n]
		for _, peer := range r.Missing {
			if slices.Contains(s.ready, peer) {
				pairs = append(pairs, n+" to "+peer)
			}
		}
		if r.Peers < len(s.ready)-1 {
			pairs = append(pairs, n+" to nodes that have joined")
		}
	}
	return pairs
}

// problems are sentences on nodes that cannot encrypt, sorted by node. Of nodes that are not Ready nothing is said.
func (s ipsecState) problems() []string {
	var out []string
	for _, n := range s.ready {
		r, reported := s.reports[n]
		if !reported {
			continue // a pod that is not there yet is one of a DaemonSet that is rolled out
		}
		for _, p := range r.Problems {
			out = append(out, fmt.Sprintf("IPsec of node %s: %s", n, p))
		}
	}
	return out
}

// observeIPsec reads the phase, the nodes, and what their agents report. Where IPsec is off and stays so, it reads the phase alone. The operator's caches have
// neither the ConfigMaps of this namespace nor annotations of pods.
func observeIPsec(ctx context.Context, r client.Reader, on bool) (ipsecState, error) {
	s := ipsecState{reports: map[string]agentconfig.Report{}}
	direct := provider.Direct(r)
	var config corev1.ConfigMap
	err := direct.Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.IPsecConfigMap}, &config)
	if client.IgnoreNotFound(err) != nil {
		return s, fmt.Errorf("read ConfigMap %s/%s: %w", agentconfig.Namespace, agentconfig.IPsecConfigMap, err)
	}
	if err == nil {
		// A phase that a person has damaged is decided again, from the one that refuses nothing.
		if s.phase, err = agentconfig.ParsePhase(config.Data[agentconfig.KeyIPsecPhase]); err != nil {
			s.phase = agentconfig.PhaseAccept
		}
	}
	if !on && s.phase == "" {
		return s, nil
	}
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return s, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes.Items {
		if status.NodeReady(&n) {
			s.ready = append(s.ready, n.Name)
		}
	}
	slices.Sort(s.ready)
	var pods corev1.PodList
	if err := direct.List(ctx, &pods, client.InNamespace(agentconfig.Namespace), client.MatchingLabels{"app": ipsecName}); err != nil {
		return s, fmt.Errorf("list pods of %s: %w", ipsecName, err)
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil {
			continue
		}
		// What is not a report is none: the node is waited for, and named.
		if report, err := agentconfig.ParseReport(p.Annotations[agentconfig.IPsecAnnotation]); err == nil {
			s.reports[p.Spec.NodeName] = report
		}
	}
	return s, nil
}

// addIPsec adds the objects of IPsec for a phase.
func addIPsec(list *manifest.List, spec *operatorv1.NetworkSpec, phase agentconfig.Phase, pods podSettings) {
	manifest.AddAsset[corev1.ServiceAccount](list, "serviceaccount-ipsec", nil)
	manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-ipsec", nil)
	manifest.AddAsset[rbacv1.ClusterRoleBinding](list, "clusterrolebinding-ipsec", nil)
	manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-ipsec-report", nil)
	manifest.AddAsset[rbacv1.RoleBinding](list, "rolebinding-ipsec-report", nil)
	manifest.AddAsset[networkv1.OperatorPKI](list, "operatorpki-ipsec", nil)
	encapsulation := osv1.Encapsulation(osv1.EncapsulationAuto)
	if c := settings(spec).IPsecConfig; c != nil && c.Full != nil && c.Full.Encapsulation != "" {
		encapsulation = c.Full.Encapsulation
	}
	list.Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.IPsecConfigMap},
		Data:       map[string]string{agentconfig.KeyIPsecPhase: string(phase), agentconfig.KeyIPsecEncapsulation: string(encapsulation)},
	})
	// A phase is followed without a restart.
	manifest.AddAsset(list, "ipsec", func(d *appsv1.DaemonSet) { pods.set(d, agentconfig.KeyAPIServer) })
}
