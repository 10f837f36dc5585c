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
	// component is the value of manifest.LabelComponent of all that the loop makes, by which its caches select.
	component = "EgressRouter"
	// managedBy is the value of manifest.LabelManagedBy. It is not that of the operator's own workloads, since those are the cluster's
	// network and count for its status, and these are a tenant's.
	managedBy = manifest.ManagedBy + "-" + Name
	// LabelRouter is the label, of what is made of a router and of its pods, that tells one router of a namespace from another. Its value
	// is the router's name if that is short and has no dots.
	LabelRouter = "network.operator.openshift.io/egress-router"
	// annotationRouter has the router's whole name.
	annotationRouter = LabelRouter
	// annotationConfig changes with the CNI configuration, which is only read when a pod is made.
	annotationConfig = "network.operator.openshift.io/egress-router-config-hash"

	// namePrefix is what all names begin with.
	namePrefix = "egress-router-"
	// longestID leaves room in a DNS label for namePrefix and the suffix of an attachment.
	longestID = 40
	// hashLength is how many hexadecimal digits stand for the rest of a name that is too long.
	hashLength = 8
)

// The names that OpenShift's operator gives, whatever the router's.
const (
	fixedAttachment = "egress-router-cni-nad"
	fixedDeployment = "egress-router-cni-deployment"
)

var (
	kindAttachment = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}
	kindDeployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// idOf returns what names and labels have of a router's name: the name, or what is left of it and a hash if it is too long or
// has dots, which not everything that reads the names of attachments takes.
func idOf(router string) string {
	if len(router) <= longestID && len(validation.IsDNS1123Label(router)) == 0 {
		return router
	}
	sum := sha256.Sum256([]byte(router))
	short := strings.ReplaceAll(router, ".", "-")
	short = strings.TrimRight(short[:min(len(short), longestID-hashLength-1)], "-")
	return short + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// deploymentName returns the name of a router's Deployment.
func deploymentName(router string) string { return namePrefix + idOf(router) }

// attachmentName returns the name of the attachment for an address of a family. Both families have a suffix, so that the attachment
// of one router never has the name of another one's.
func attachmentName(router string, ipv6 bool) string {
	if ipv6 {
		return deploymentName(router) + "-ipv6"
	}
	return deploymentName(router) + "-ipv4"
}

// labelsOf returns the labels of all that is made of a router.
func labelsOf(router string) map[string]string {
	return map[string]string{manifest.LabelManagedBy: managedBy, manifest.LabelComponent: component, LabelRouter: idOf(router)}
}

// ownerOf returns the reference by which Kubernetes deletes what is made of a router with it. It does not block the router's
// deletion, which would take a right on the router's finalizers.
func ownerOf(r *networkv1.EgressRouter) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: networkv1.GroupVersion.String(), Kind: "EgressRouter", Name: r.Name, UID: r.UID, Controller: &yes}
}

// belonging is whose an object is.
type belonging int

const (
	nobodys belonging = iota // no controller owns it
	ours
	predecessors // it was made of a router of the same name that is gone
	others
)

// whose reports whether an object belongs to a router, to another owner, or to none.
func whose(o metav1.Object, r *networkv1.EgressRouter) belonging {
	owner := metav1.GetControllerOf(o)
	switch {
	case owner == nil:
		return nobodys
	case owner.UID == r.UID:
		return ours
	case owner.Kind == "EgressRouter" && strings.HasPrefix(owner.APIVersion, networkv1.GroupVersion.Group+"/") && owner.Name == r.Name:
		return predecessors
	default:
		return others
	}
}
