package doctor

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
)

// resource returns a resource by group, version and name.
func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

// The resources that findings use.
var (
	networkObjects = resource("operator.openshift.io", "v1", "networks")
	nodes          = resource("", "v1", "nodes")
	pods           = resource("", "v1", "pods")
	deployments    = resource("apps", "v1", "deployments")
	daemonSets     = resource("apps", "v1", "daemonsets")
	guards         = resource("networkoperator.openshift.io", "v1", "networkguards")
	checks         = resource("controlplane.operator.openshift.io", "v1alpha1", "podnetworkconnectivitychecks")
	definitions    = resource("k8s.cni.cncf.io", "v1", "network-attachment-definitions")
	multiPolicies  = resource("k8s.cni.cncf.io", "v1beta1", "multi-networkpolicies")
)

// namespaces returns the namespace of the operator, those of operands, and that of the reports about host networks.
func (c *collector) namespaces() []string {
	all := append(c.operands.Names(nil), c.namespace, nodereport.Namespace)
	slices.Sort(all)
	return slices.Compact(all)
}

// sections returns all sections: configuration and nodes first, since most findings use them.
func (c *collector) sections() []section {
	all := []section{
		{resource: networkObjects},
		{resource: resource("networkoperator.openshift.io", "v1", "networkcomponents")},
		{resource: resource("networkoperator.openshift.io", "v1", "networkconfigs")},
		{resource: guards},
		{resource: resource("networkoperator.openshift.io", "v1", "networknodes"), trim: trimManaged},
		{resource: resource("network.operator.openshift.io", "v1", "hostnetworkconfigs")},
		{resource: resource("network.operator.openshift.io", "v1", "egressrouters")},
		{resource: resource("network.operator.openshift.io", "v1", "operatorpkis")},
		{resource: resource("config.openshift.io", "v1", "networks")},
		{resource: resource("config.openshift.io", "v1", "clusteroperators"), trim: trimManaged},
		{resource: checks},
		{resource: definitions, trim: trimManaged},
		{resource: multiPolicies, trim: trimManaged},
		{resource: resource("whereabouts.cni.cncf.io", "v1alpha1", "ippools"), trim: trimManaged},
		{resource: nodes, trim: trimNode},
		{resource: resource("apps", "v1", "controllerrevisions"), namespace: c.namespace},
	}
	for _, ns := range c.namespaces() {
		for _, r := range []schema.GroupVersionResource{
			deployments, daemonSets, pods, resource("", "v1", "configmaps"), resource("", "v1", "services"), resource("", "v1", "events"),
			resource("", "v1", "serviceaccounts"), resource("discovery.k8s.io", "v1", "endpointslices"), resource("coordination.k8s.io", "v1", "leases"),
		} {
			all = append(all, section{resource: r, namespace: ns, trim: trimManaged})
		}
	}
	return all
}

// trimManaged drops managedFields.
func trimManaged(o map[string]any) { unstructured.RemoveNestedField(o, "metadata", "managedFields") }

// trimNode also drops the list of images, which is most of a node.
func trimNode(o map[string]any) {
	trimManaged(o)
	unstructured.RemoveNestedField(o, "status", "images")
}
