package openshiftsdn

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

var _ provider.LinkChecker = OpenShiftSDN{}

// CheckChange returns every unsafe change of a setting: the table of fields has all of them.
func (o OpenShiftSDN) CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList {
	return provider.CheckFields(prev, next, o.Fields())
}

// CheckLinks refuses an MTU that, with what VXLAN adds, is more than a link of a node takes.
func (OpenShiftSDN) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	return mtumigration.CheckLinks(configPath.Child("mtu"), int(orZero(settings(spec).MTU)), agentconfig.VXLANOverhead, "VXLAN", known.LinkMTU())
}
