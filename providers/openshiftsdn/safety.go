package openshiftsdn

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

var (
	_ provider.LinkChecker = OpenShiftSDN{}
	_ provider.MTUReporter = OpenShiftSDN{}
)

// component is the name of the network in conditions.
const component = string(operatorv1.NetworkTypeOpenShiftSDN)

// CheckChange returns every unsafe change of a setting, according to Fields.
func (o OpenShiftSDN) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, o.Fields())
}

// MTUPath is the path of the field that sets the MTU of pods.
func (OpenShiftSDN) MTUPath() *field.Path { return configPath.Child("mtu") }

// PodMTU returns the MTU that a defaulted specification gives pods, and the VXLAN overhead, both in bytes.
func (OpenShiftSDN) PodMTU(spec *operatorv1.NetworkSpec) (mtu, overhead int) {
	return int(orZero(settings(spec).MTU)), agentconfig.VXLANOverhead
}

// MTUAgents returns the agents that the operator watches during an MTU migration.
func (OpenShiftSDN) MTUAgents() provider.MTUAgents {
	return provider.MTUAgents{Component: component, Namespace: agentconfig.Namespace, ConfigMap: agentconfig.ConfigMap, App: agentconfig.Node}
}

// CheckLinks rejects an MTU that, with the VXLAN overhead, exceeds the MTU of a node's link.
func (o OpenShiftSDN) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	mtu, overhead := o.PodMTU(spec)
	return mtumigration.CheckLinks(o.MTUPath(), mtu, overhead, "VXLAN", known.LinkMTU())
}
