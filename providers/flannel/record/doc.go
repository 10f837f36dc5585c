// Package record holds what the operator's side of flannel writes down, as values with a JSON form: what its
// rendering tells its loop (Settings), and who the members of the etcd are that the operator runs (Membership).
// The provider renders from them, the loop moves them on.
//
// It is pure, and decides nothing.
package record

// Where flannel's objects are, and what they are called.
const (
	// Namespace holds everything of flannel that nodes need.
	Namespace = "openshift-flannel"
	// ConfigMap holds the configuration of the agents under AgentKey and that of the operator's loop under
	// SettingsKey. The loop is active while it exists.
	ConfigMap   = "flannel-config"
	AgentKey    = "flanneld.json"
	SettingsKey = "cluster.json"
	// MembersConfigMap holds the Membership under MembersKey.
	MembersConfigMap = "flannel-etcd-members"
	MembersKey       = "members.json"
	// CopyLabel marks the ConfigMaps of single members. Each has a copy of the Membership under MembersKey, from
	// which the loop restores it if someone deletes it.
	CopyLabel = "networkoperator.openshift.io/etcd-members-copy"
	// ClientSecret is what agents and the operator present to etcd, of type kubernetes.io/tls with BundleKey.
	ClientSecret = "flannel-etcd-client"
	// AuthoritySecret is the authority of the etcd that the operator runs. It lives in the operator's own
	// namespace, where no pod of flannel can mount it.
	AuthoritySecret = "flannel-etcd-ca"
	// BundleKey is the key of trusted certificates in the Secrets beside tls.crt and tls.key.
	BundleKey = "ca.crt"
	// EtcdImage is the environment variable that names the image of etcd.
	EtcdImage = "ETCD_IMAGE"
	// FlannelImage is the environment variable that names the image of the agent.
	FlannelImage = "FLANNEL_IMAGE"
	// Component is the name in conditions and labels.
	Component = "Flannel"
)

// MemberDeployment is the name of the Deployment that runs the member on a node.
func MemberDeployment(node string) string { return "flannel-etcd-" + node }

// MemberSecret is the name of the Secret with the certificate of the member on a node.
func MemberSecret(node string) string { return "flannel-etcd-member-" + node }

// ConfigHash is the annotation of pod templates that makes pods start again when what they read once has changed.
const ConfigHash = "networkoperator.openshift.io/config-hash"
