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

// component is the network's name in conditions.
const component = string(operatorv1.NetworkTypeOpenShiftSDN)

// CheckChange returns every unsafe change of a setting: the table of fields has all of them.
func (o OpenShiftSDN) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, o.Fields())
}

// MTUPath is the path of the field that sets the MTU of pods.
func (OpenShiftSDN) MTUPath() *field.Path { return configPath.Child("mtu") }

// PodMTU returns the MTU that a filled specification gives pods, and what VXLAN takes for itself.
func (OpenShiftSDN) PodMTU(spec *operatorv1.NetworkSpec) (mtu, overhead int) {
	return int(orZero(settings(spec).MTU)), agentconfig.VXLANOverhead
}

// MTUAgents is where the operator watches agents during a change of the MTU.
func (OpenShiftSDN) MTUAgents() provider.MTUAgents {
	return provider.MTUAgents{Component: component, Namespace: agentconfig.Namespace, ConfigMap: agentconfig.ConfigMap, App: agentconfig.Node}
}

// CheckLinks refuses an MTU that, with what VXLAN adds, is more than a link of a node takes.
func (o OpenShiftSDN) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	mtu, overhead := o.PodMTU(spec)
	return mtumigration.CheckLinks(o.MTUPath(), mtu, overhead, "VXLAN", known.LinkMTU())
}
