package v1

// AttachmentLevel is how far definitions of further networks are trusted.
// +kubebuilder:validation:Enum=Trusted;Restricted
type AttachmentLevel string

// The levels of attachments.
const (
	// AttachmentsTrusted lets a definition use every CNI plugin of the nodes.
	AttachmentsTrusted AttachmentLevel = "Trusted"
	// AttachmentsRestricted limits the definitions outside the global namespaces to plugins and interfaces that do not reach the nodes
	// or the default network.
	AttachmentsRestricted AttachmentLevel = "Restricted"
)

// MultiNetworkConfig determines which networks pods may be attached to besides the default network.
type MultiNetworkConfig struct {
	// namespaceIsolation limits a pod to networks that are defined in its own namespace or in one of globalNamespaces. The default is
	// true.
	// +optional
	NamespaceIsolation *bool `json:"namespaceIsolation,omitempty"`

	// globalNamespaces are the namespaces whose networks pods of all namespaces may use. The default is default, openshift-multus,
	// openshift-sriov-network-operator and openshift-cnv.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	GlobalNamespaces []string `json:"globalNamespaces,omitempty"`

	// attachments is how far definitions of networks outside globalNamespaces are trusted: Trusted lets them use every CNI plugin of the
	// nodes, so that users who may create definitions can reach interfaces and files of nodes; Restricted only plugins and interfaces that
	// do not reach the nodes or the default network. The default is Trusted.
	// +optional
	Attachments AttachmentLevel `json:"attachments,omitempty"`

	// restricted determines what is allowed if attachments is Restricted. It has no effect otherwise.
	// +optional
	Restricted *RestrictedAttachments `json:"restricted,omitempty"`
}

// RestrictedAttachments is what definitions of networks may use if attachments are restricted.
type RestrictedAttachments struct {
	// masters are the interfaces of nodes on which macvlan interfaces may be created. Without any, definitions cannot use macvlan.
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=15
	// +kubebuilder:validation:items:Pattern=`^[^/\s]+$`
	// +optional
	Masters []string `json:"masters,omitempty"`
}

// MultiNetworkEnabled reports whether pods may have further networks: they may, unless disableMultiNetwork is true.
func (s *NetworkSpec) MultiNetworkEnabled() bool {
	return s.DisableMultiNetwork == nil || !*s.DisableMultiNetwork
}
