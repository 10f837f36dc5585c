package ovnkubernetes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

var _ provider.LinkChecker = OVNKubernetes{}

// CheckLinks refuses an MTU that, with what Geneve adds, is more than a link of a node takes.
func (OVNKubernetes) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	mtu, link := int(*orZero(settings(spec).MTU)), known.LinkMTU()
	if link == 0 || mtu+geneve <= link {
		return nil
	}
	return field.ErrorList{field.Invalid(configPath.Child("mtu"), mtu, fmt.Sprintf("needs links of at least %d (Geneve adds %d), and a node has one of %d; use %d or less, or leave it out, or raise the links first and delete the ConfigMap mtu, so that nodes are asked again",
		mtu+geneve, geneve, link, link-geneve)).WithOrigin("mtu-links")}
}
