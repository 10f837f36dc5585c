package egressrouter

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

const (
	// component is the value of manifest.LabelComponent on all objects of the controller; its caches select by it.
	component = "EgressRouter"
	// managedBy is the value of manifest.LabelManagedBy. It differs from that of the operator's own workloads: those are part of the cluster
	// network and count for its status, routers belong to tenants.
	managedBy = manifest.ManagedBy + "-" + Name
	// LabelRouter is the label that identifies the router, on its objects and pods. Its value is the router's name if that is short and
	// has no dots, see idOf.
	LabelRouter = "network.operator.openshift.io/egress-router"
	// annotationRouter has the router's whole name.
	annotationRouter = LabelRouter
	// annotationConfig is the hash of the CNI configuration. A change recreates the pod, because the configuration is only read at creation.
	annotationConfig = "network.operator.openshift.io/egress-router-config-hash"

	// namePrefix is the prefix of all object names.
	namePrefix = "egress-router-"
	// maxIDLength leaves room in a DNS label for namePrefix and the suffix of an attachment.
	maxIDLength = 40
	// hashLength is the number of hexadecimal digits that replace the rest of a name that is too long.
	hashLength = 8
)

// Fixed names that OpenShift's operator uses for the objects of any router.
const (
	fixedAttachment = "egress-router-cni-nad"
	fixedDeployment = "egress-router-cni-deployment"
)

var (
	kindAttachment = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}
	kindDeployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// idOf returns the router's name for use in names and labels. A name that is too long or has dots, which some readers of attachment names do not
// accept, is shortened and gets a hash.
func idOf(router string) string {
	if len(router) <= maxIDLength && len(validation.IsDNS1123Label(router)) == 0 {
		return router
	}
	sum := sha256.Sum256([]byte(router))
	short := strings.ReplaceAll(router, ".", "-")
	short = strings.TrimRight(short[:min(len(short), maxIDLength-hashLength-1)], "-")
	return short + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// deploymentName returns the name of a router's Deployment.
func deploymentName(router string) string { return namePrefix + idOf(router) }

// attachmentName returns the name of the attachment for an IP family. Both families have a suffix, so that the attachments of different
// routers never have the same name.
func attachmentName(router string, ipv6 bool) string {
	if ipv6 {
		return deploymentName(router) + "-ipv6"
	}
	return deploymentName(router) + "-ipv4"
}

// labelsOf returns the labels of all objects of a router.
func labelsOf(router string) map[string]string {
	return map[string]string{manifest.LabelManagedBy: managedBy, manifest.LabelComponent: component, LabelRouter: idOf(router)}
}

// ownerOf returns the owner reference of a router's objects, so that Kubernetes garbage-collects them. It does not block the router's
// deletion, which would require permission on the router's finalizers.
func ownerOf(r *networkv1.EgressRouter) metav1.OwnerReference {
	isController := true
	return metav1.OwnerReference{APIVersion: networkv1.GroupVersion.String(), Kind: "EgressRouter", Name: r.Name, UID: r.UID, Controller: &isController}
}

// ownership is the relation between an object and a router.
type ownership int

const (
	unowned ownership = iota // has no controller
	owned
	ownedByPredecessor // controlled by a deleted router of the same name
	ownedByOther
)

// ownershipOf compares the controller of an object with a router.
func ownershipOf(o metav1.Object, r *networkv1.EgressRouter) ownership {
	owner := metav1.GetControllerOf(o)
	switch {
	case owner == nil:
		return unowned
	case owner.UID == r.UID:
		return owned
	case owner.Kind == "EgressRouter" && strings.HasPrefix(owner.APIVersion, networkv1.GroupVersion.Group+"/") && owner.Name == r.Name:
		return ownedByPredecessor
	default:
		return ownedByOther
	}
}
