// Package etcdcluster describes an etcd that the operator runs for a network on control-plane nodes: its names (Cluster), its members (Membership), the
// objects that run them, and the validation of its settings. A network provides a Cluster, and renders the objects from the Membership; package
// etcdmanager changes the Membership and manages certificates, users and databases.
//
// The package is pure. Only etcdmanager decides about changes of a membership.
package etcdcluster

import "strings"

// Keys, labels and annotations of the objects of every etcd.
const (
	// MembersKey is the key of the Membership in the ConfigMap MembersConfigMap.
	MembersKey = "members.json"
	// CopyLabel marks the ConfigMaps of single members. Each has a copy of the Membership under MembersKey, from which the operator restores
	// a deleted MembersConfigMap.
	CopyLabel = "networkoperator.openshift.io/etcd-members-copy"
	// BundleKey is the key of trusted certificates in Secrets that also have tls.crt and tls.key.
	BundleKey = "ca.crt"
	// ConfigHash is the annotation of pod templates that restarts pods when files that they read at their start change.
	ConfigHash = "networkoperator.openshift.io/config-hash"
	// RootUser is the user of the operator, and the role with all permissions.
	RootUser = "root"
	// FoundAgain is the annotation of the ConfigMap MembersConfigMap with which a user abandons the etcd and requests a new one. Its value
	// must be "true".
	FoundAgain = "networkoperator.openshift.io/found-again"
)

// Cluster has the names of the etcd of a network and of its objects. All fields are required.
type Cluster struct {
	// Network is the name of the network in lower case, as in "flannel". It is part of messages, the common name of clients, and the name of the
	// document docs/providers/NETWORK.md, which describes how to repair the etcd.
	Network string
	// Component is the network's name in conditions and labels.
	Component string
	// Namespace is the namespace of all objects except the CA and the operator's certificate.
	Namespace string
	// App is the label app of the members' pods, and the prefix of the names of all objects.
	App string
	// ServiceAccount is the service account of the network's agents, which request certificates with it, and of the members.
	ServiceAccount string
	// Holds describes the content, as in "which node has which subnet".
	Holds string
	// WhenFull describes the effect when etcd refuses writes, as in "no lease can be renewed".
	WhenFull string
	// MetricsPort is the port of the members' probes, on the loopback interface only.
	MetricsPort uint16
}

// Title returns the name of the etcd for messages.
func (c Cluster) Title() string { return c.Network + "'s etcd" }

// Page returns the path of the document that describes how to repair the etcd.
func (c Cluster) Page() string { return "docs/providers/" + c.Network + ".md" }

// MembersConfigMap returns the name of the ConfigMap with the Membership under MembersKey.
func (c Cluster) MembersConfigMap() string { return c.App + "-members" }

// ClientSecret returns the name of the Secret with the agents' client certificate, of type kubernetes.io/tls with BundleKey.
func (c Cluster) ClientSecret() string { return c.App + "-client" }

// CASecret returns the name of the Secret with the CA of the etcd. It is in the operator's namespace, where pods of the network cannot mount it.
func (c Cluster) CASecret() string { return c.App + "-ca" }

// RootSecret returns the name of the Secret with the operator's client certificate. It is in the operator's namespace.
func (c Cluster) RootSecret() string { return c.App + "-root" }

// MemberDeployment returns the name of the Deployment of the member on a node, and of the ConfigMap with its configuration.
func (c Cluster) MemberDeployment(node string) string { return c.App + "-" + node }

// MemberSecret returns the name of the Secret with the certificate of the member on a node.
func (c Cluster) MemberSecret(node string) string { return c.App + "-member-" + node }

// Signer returns the signer name of nodes' certificate requests.
func (c Cluster) Signer() string { return "network.openshift.io/" + c.App }

// Requester returns the user that requests certificates for nodes.
func (c Cluster) Requester() string {
	return "system:serviceaccount:" + c.Namespace + ":" + c.ServiceAccount
}

// NodeUser returns the user and role of the agent on a node, which is the common name of its certificate.
func (c Cluster) NodeUser(node string) string { return c.nodeUserPrefix() + node }

// UserNode returns the node of an agent's user; ok is false for other users.
func (c Cluster) UserNode(user string) (node string, ok bool) {
	node, ok = strings.CutPrefix(user, c.nodeUserPrefix())
	return node, ok && node != ""
}

func (c Cluster) nodeUserPrefix() string { return c.Network + ":node:" }

// Permission allows a role to read a range of keys and, with Write, to write it.
type Permission struct {
	// Key is the first key of the range. End is the first key after the range; empty if the range is only Key.
	Key, End string
	Write    bool
}
