package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MaxEgressRules is the number of rules that an EgressNetworkPolicy may have.
const MaxEgressRules = 1000

// EgressNetworkPolicy is the egress firewall of its namespace: rules for what pods send outside of the cluster. A namespace has at most
// one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=egressnetworkpolicies,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.openshift.io=https://github.com/openshift/api/pull/527"
type EgressNetworkPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired firewall.
	Spec EgressNetworkPolicySpec `json:"spec"`
}

// EgressNetworkPolicySpec is the desired firewall.
type EgressNetworkPolicySpec struct {
	// egress are the rules, at most 1000. The first one that matches a packet decides; a packet that none matches may pass.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1500
	Egress []EgressNetworkPolicyRule `json:"egress"`
}

// EgressNetworkPolicyRule allows or denies traffic to a destination.
type EgressNetworkPolicyRule struct {
	// type is Allow or Deny.
	// +kubebuilder:validation:Enum=Allow;Deny
	Type EgressNetworkPolicyRuleType `json:"type"`

	// to is the destination.
	To EgressNetworkPolicyPeer `json:"to"`
}

// EgressNetworkPolicyRuleType is what happens to packets that a rule matches.
type EgressNetworkPolicyRuleType string

// The types of rules.
const (
	EgressNetworkPolicyRuleAllow EgressNetworkPolicyRuleType = "Allow"
	EgressNetworkPolicyRuleDeny  EgressNetworkPolicyRuleType = "Deny"
)

// EgressNetworkPolicyPeer is a destination: one of cidrSelector and dnsName.
type EgressNetworkPolicyPeer struct {
	// cidrSelector is an IPv4 network, for example 203.0.113.0/24. 0.0.0.0/0 is everything.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	CIDRSelector string `json:"cidrSelector,omitempty"`

	// dnsName is a DNS name, whose IPv4 addresses the nodes look up.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	DNSName string `json:"dnsName,omitempty"`
}

// EgressNetworkPolicyList is a list of EgressNetworkPolicies.
//
// +kubebuilder:object:root=true
type EgressNetworkPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []EgressNetworkPolicy `json:"items"`
}
