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
	// Phases are observed every ipsecChangingInterval while they change, otherwise every ipsecSteadyInterval.
	ipsecChangingInterval, ipsecSteadyInterval = 5 * time.Second, time.Minute
	// maxNamed is the maximum number of nodes in a message.
	maxNamed = 3
)

// ipsecState is the observed state of IPsec in the cluster.
type ipsecState struct {
	// fresh is true if the network is not installed yet.
	fresh bool
	// phase is the current phase; empty if IPsec is off.
	phase agentconfig.Phase
	// ready are the names of Ready nodes, sorted. reports are those of the agents, by node.
	ready   []string
	reports map[string]agentconfig.Report
}

// wantsIPsec reports whether a specification enables encryption between nodes.
func wantsIPsec(spec *operatorv1.NetworkSpec) bool {
	c := settings(spec).IPsecConfig
	return c != nil && (c.Mode == osv1.IPsecModeFull || c.Mode == "")
}

// nextPhase returns the next phase, empty if IPsec is off, and a sentence on what the operator waits for. It does not wait for nodes that are not Ready.
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

// notIn returns a sentence with the nodes that are not in a phase; empty if all are.
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
	return fmt.Sprintf("pods of %s on these nodes have not applied it yet: %s", ipsecName, status.Names(names, maxNamed))
}

// unencrypted returns a sentence with the nodes that do not encrypt packets to all other Ready nodes; empty if all do.
func (s ipsecState) unencrypted() string {
	if why := s.notIn(agentconfig.PhaseAccept); why != "" {
		return why
	}
	pairs := s.withoutKeys()
	if len(pairs) == 0 {
		return ""
	}
	return "it is not encrypted from " + status.Names(pairs, maxNamed)
}

// withoutKeys returns the pairs of Ready nodes of which the first does not encrypt packets to the second: "a to b".
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

// problems returns sentences on nodes that cannot encrypt, sorted by node. It omits nodes that are not Ready.
func (s ipsecState) problems() []string {
	var out []string
	for _, n := range s.ready {
		r, reported := s.reports[n]
		if !reported {
			continue // the pod of the DaemonSet has not started yet
		}
		for _, p := range r.Problems {
			out = append(out, fmt.Sprintf("IPsec of node %s: %s", n, p))
		}
	}
	return out
}

// observeIPsec reads the phase, the nodes, and the reports of their agents. While IPsec is off it reads only the phase. The operator's caches exclude the
// ConfigMaps of this namespace and annotations of pods.
func observeIPsec(ctx context.Context, r client.Reader, on bool) (ipsecState, error) {
	s := ipsecState{reports: map[string]agentconfig.Report{}}
	direct := provider.Direct(r)
	var config corev1.ConfigMap
	err := direct.Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.IPsecConfigMap}, &config)
	if client.IgnoreNotFound(err) != nil {
		return s, fmt.Errorf("read ConfigMap %s/%s: %w", agentconfig.Namespace, agentconfig.IPsecConfigMap, err)
	}
	if err == nil {
		// An invalid phase is replaced, starting from the one that drops no packets.
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
		// An invalid report is ignored: the operator waits for the node.
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
	// The agents apply a phase without a restart.
	manifest.AddAsset(list, "ipsec", func(d *appsv1.DaemonSet) { pods.set(d, agentconfig.KeyAPIServer) })
}
