package ovnkubernetes

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
)

var _ provider.LinkChecker = OVNKubernetes{}

// CheckLinks refuses an MTU that, with what Geneve adds, is more than a link of a node takes.
func (OVNKubernetes) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	mtu, link := int(*orZero(settings(spec).MTU)), known.LinkMTU()
	return mtumigration.CheckLinks(configPath.Child("mtu"), mtu, geneve, "Geneve", link)
}
