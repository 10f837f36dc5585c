package pipeline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// unread is the reason why the two fields that all operators of OpenShift have in common have no effect.
const unread = "the operator does not read it"

// common returns the fields that have the same meaning for every network type. grows lists the types whose pools can grow.
func common(grows string) []provider.Field {
	return []provider.Field{
		{Path: "spec.managementState", Class: provider.Live, Disruption: provider.NoDisruption,
			Reason: "the operator begins or ceases to manage the network; running components keep running", Reader: "internal/pipeline"},
		{Path: "spec.logLevel", Class: provider.Rolling, Disruption: provider.PodsRestart,
			Reason: "the network's own pods restart node by node to log more or less; traffic continues", Reader: "providers/flannel"},
		{Path: "spec.operatorLogLevel", Class: provider.Live, Disruption: provider.NoDisruption, Reason: "the operator logs more or less at once", Reader: "internal/controller/network"},
		{Path: "spec.unsupportedConfigOverrides", Class: provider.Live, Disruption: provider.NoDisruption, Reason: unread, Unread: unread},
		{Path: "spec.observedConfig", Class: provider.Live, Disruption: provider.NoDisruption, Reason: unread, Unread: unread},
		{Path: "spec.disableNetworkDiagnostics", Class: provider.Live, Disruption: provider.NoDisruption, Reason: "connectivity is checked, or no longer; traffic continues", Reader: "providers/diagnostics"},
		{Path: "spec.exportNetworkFlows", Class: provider.Live, Disruption: provider.NoDisruption, Reason: "flow records are exported, or no longer; traffic continues", Needs: provider.NeedsNetwork},
		{Path: "spec.additionalRoutingCapabilities", Class: provider.Rolling, Disruption: provider.PodsRestart, Reason: "components beside the network are deployed or removed", Needs: provider.NeedsNetwork},
		{Path: "spec.rollout", Class: provider.Live, Disruption: provider.NoDisruption, Reason: "it is used the next time a rollout is observed", Reader: "internal/controller"},
		{Path: "spec.workloads", Class: provider.Rolling, Disruption: provider.PodsRestart, Reader: "internal/pipeline",
			Reason: "the pods of the workload restart, node by node; the network keeps running"},
		{Path: "spec.migration", Class: provider.Migration, Disruption: provider.PodsRestart, Reason: "it begins or ends a migration, whose phases are guided; the network's own pods restart node by node in each", Reader: "internal/pipeline"},
		{Path: "spec.serviceNetwork", Class: provider.Forbidden, Disruption: provider.Outage,
			Reason: "services keep the addresses they have; only a second IP family can be added or removed, where the network can convert", Reader: "internal/pipeline"},
		{Path: "spec.clusterNetwork", Class: provider.Forbidden, Disruption: provider.Outage,
			Reason: "pods keep the addresses they have; only a second IP family can be added or removed, where the network can convert", Reader: "internal/pipeline"},
		poolField(grows),
		{Path: "spec.clusterNetwork.hostPrefix", Class: provider.Forbidden, Disruption: provider.Outage, Reason: "nodes hold blocks of the old length", Reader: "internal/pipeline"},
		{Path: "spec.defaultNetwork", Class: provider.Forbidden, Disruption: provider.NoDisruption, Reason: "settings of a network that is not the one in use", Reader: "internal/pipeline"},
		{Path: "spec.defaultNetwork.type", Class: provider.Forbidden, Disruption: provider.Outage, Reason: "pods would lose their network", Fixed: RuleTypeChange, Subject: "default network type", Reader: "internal/pipeline"},
	}
}

// poolField returns the field of a pool's CIDR.
func poolField(grows string) provider.Field {
	f := provider.Field{Path: "spec.clusterNetwork.cidr", Class: provider.Forbidden, Disruption: provider.Outage, Grows: grows, Reason: "pods keep the addresses they have", Reader: "internal/pipeline"}
	if grows != "" {
		f.Growth = "nodes keep their blocks and pods their addresses; the network's own pods restart node by node, " +
			"and blocks of the added part are allocated once all nodes know the larger pool"
		f.Reason += fmt.Sprintf("; only a shorter prefix that begins at the same address is possible, where the network's pools can grow (%s); the operator's pods then restart node by node, and traffic continues", grows)
	}
	return f
}

// thirdParties stands for all types of network that a third party installs.
const thirdParties = "third-party networks"

// foreign reports whether a third party installs networks of a type; false for the empty type.
func (r Registry) foreign(t operatorv1.NetworkType) bool {
	_, foreign := r.provider(t).(thirdParty)
	return foreign && t != ""
}

// growing returns the network types whose pools can grow, separated by commas; with a type, only that one.
func (r Registry) growing(t operatorv1.NetworkType) string {
	if r.foreign(t) {
		return string(t)
	}
	var types []string
	for _, p := range r.Providers {
		if traits := p.Traits(); traits.GrowPools && (t == "" || traits.Type == t) {
			types = append(types, string(traits.Type))
		}
	}
	if t == "" {
		types = append(types, thirdParties)
	}
	return strings.Join(types, ", ")
}

// Fields returns the effect of a change of each field for networks of a type, or for all networks of the registry if the type
// is empty, sorted by path. With a type, a field that has no effect on it disrupts nothing, but keeps its class, which admission
// policies use. An entry also covers the fields below it that have no entry.
func (r Registry) Fields(t operatorv1.NetworkType) []provider.Field {
	fields := common(r.growing(t))
	for _, p := range r.Providers {
		if t == "" || p.Traits().Type == t {
			fields = append(fields, p.Fields()...)
		}
	}
	for _, c := range r.Components {
		fields = append(fields, c.Fields()...)
	}
	if t != "" {
		traits := r.provider(t).Traits()
		for i := range fields {
			if fields[i].Grows != "" && r.foreign(t) {
				fields[i].Growth = "pods keep their addresses; kube-proxy, where the operator deploys it, restarts node by node. " +
					"The operator does not configure the third-party network: give it the larger pool, too"
			}
			if why := withoutEffect(fields[i], traits); why != "" {
				fields[i].Disruption, fields[i].Reason = provider.NoDisruption, "it "+why
			}
		}
	}
	slices.SortStableFunc(fields, func(a, b provider.Field) int { return cmp.Compare(a.Path, b.Path) })
	return fields
}

// indexes matches the indexes in a path; Field.Path has none.
var indexes = regexp.MustCompile(`\[[^\]]*\]`)

// fieldOf returns the entry for a path: its own, or the nearest above; the zero Field if there is none.
func fieldOf(fields []provider.Field, path string) provider.Field {
	return provider.FieldOf(fields, indexes.ReplaceAllString(path, ""))
}
