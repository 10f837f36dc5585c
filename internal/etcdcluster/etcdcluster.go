// Package etcdcluster is an etcd that the operator runs for a network on the control-plane nodes: what it is called (Cluster), who its
// members are (Membership), the objects that run them, and the rules for its settings. A network gives a Cluster as data and renders
// from the Membership; package etcdmanager changes the Membership and manages certificates, users and databases.
//
// It is pure: what a membership becomes is decided in etcdmanager alone.
package etcdcluster

import "strings"

// Keys, labels and annotations of the objects of every etcd.
const (
	// MembersKey is the key of the Membership in the ConfigMap MembersConfigMap.
	MembersKey = "members.json"
	// CopyLabel marks the ConfigMaps of single members. Each has a copy of the Membership under MembersKey, from
	// which the operator restores it if someone deletes it.
	CopyLabel = "networkoperator.openshift.io/etcd-members-copy"
	// BundleKey is the key of trusted certificates in the Secrets beside tls.crt and tls.key.
	BundleKey = "ca.crt"
	// ConfigHash is the annotation of pod templates that makes pods start again when what they read once has changed.
	ConfigHash = "networkoperator.openshift.io/config-hash"
	// RootUser is the user of the operator, and the role that permits everything.
	RootUser = "root"
	// FoundAgain is the annotation of the ConfigMap MembersConfigMap with which a person gives the etcd up and has another one
	// founded. Its value must be "true".
	FoundAgain = "networkoperator.openshift.io/found-again"
)

// Cluster names the etcd of a network and its objects. All fields are required.
type Cluster struct {
	// Network is the network in lower case, as in "flannel": messages name the etcd after it, its clients have it as their common
	// name, and docs/providers/NETWORK.md describes how to repair the etcd.
	Network string
	// Component is the network's name in conditions and labels.
	Component string
	// Namespace is that of everything but the CA and the operator's own certificate.
	Namespace string
	// App is the label app of the members' pods. The names of all objects begin with it.
	App string
	// ServiceAccount is the account of the network's agents and of the members. Agents request certificates with it.
	ServiceAccount string
	// Holds says what the network keeps in it, as in "which node has which subnet".
	Holds string
	// WhenFull says what no longer works when it refuses writes, as in "no lease can be renewed".
	WhenFull string
	// MetricsPort is the port on which members answer probes, on the loopback interface only.
	MetricsPort uint16
}

// Title names the etcd in sentences.
func (c Cluster) Title() string { return c.Network + "'s etcd" }

// Page is the page of the documents that describes how to repair the etcd.
func (c Cluster) Page() string { return "docs/providers/" + c.Network + ".md" }

// MembersConfigMap is the name of the ConfigMap that holds the Membership under MembersKey.
func (c Cluster) MembersConfigMap() string { return c.App + "-members" }

// ClientSecret is the name of the Secret with what agents present to etcd, of type kubernetes.io/tls with BundleKey.
func (c Cluster) ClientSecret() string { return c.App + "-client" }

// AuthoritySecret is the name of the Secret with the CA of the etcd. It is in the operator's own namespace, where no pod of the
// network can mount it.
func (c Cluster) AuthoritySecret() string { return c.App + "-ca" }

// RootSecret is the name of the Secret with what the operator presents to etcd. It is in the operator's own namespace.
func (c Cluster) RootSecret() string { return c.App + "-root" }

// MemberDeployment is the name of the Deployment that runs the member on a node, and of the ConfigMap with its configuration.
func (c Cluster) MemberDeployment(node string) string { return c.App + "-" + node }

// MemberSecret is the name of the Secret with the certificate of the member on a node.
func (c Cluster) MemberSecret(node string) string { return c.App + "-member-" + node }

// Signer is the signer of the certificates that nodes request for themselves.
func (c Cluster) Signer() string { return "network.openshift.io/" + c.App }

// Requester is the user that requests certificates for nodes.
func (c Cluster) Requester() string {
	return "system:serviceaccount:" + c.Namespace + ":" + c.ServiceAccount
}

// NodeUser is the user of the agent on a node, and its role: the common name of its certificate.
func (c Cluster) NodeUser(node string) string { return c.nodeUserPrefix() + node }

// UserNode returns the node of a user; ok is false if it is not that of an agent.
func (c Cluster) UserNode(user string) (node string, ok bool) {
	node, ok = strings.CutPrefix(user, c.nodeUserPrefix())
	return node, ok && node != ""
}

func (c Cluster) nodeUserPrefix() string { return c.Network + ":node:" }

// Permission is a range of keys that a role may read or, with Write, also write.
type Permission struct {
	// Key is the first key. End is the first one after the range; empty if it is Key alone.
	Key, End string
	Write    bool
}
