package provider

import (
	"io/fs"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Operands describes the objects that a provider or a component has in a cluster and on its nodes with any specification. The admission
// policies, the roles of the operator's account (config/rbac), cno doctor and cno uninstall use it. The zero value is a part without
// objects.
type Operands struct {
	// Namespaces are the namespaces of its objects, in which the operator may write.
	Namespaces []OperandNamespace
	// ClusterRoles and ClusterRoleBindings are the names of those that the operator writes.
	ClusterRoles        []string
	ClusterRoleBindings []string
	// Agents are the DaemonSets that change nodes.
	Agents []Agent
	// Bridges are the bridges of nodes to which the network attaches pods. Access to them gives access to the traffic of other pods.
	Bridges []string
	// Plugins are the types of the CNI plugins with which its agents are called. Definitions of further networks must not name them.
	Plugins []string
	// Definitions are the names of the CRDs that it installs unless another component has, and then updates and deletes.
	Definitions []string
	// ConfigMaps are the names of those that the operator changes and deletes.
	ConfigMaps []string
	// Rules are the cluster-wide permissions that the operator's account needs only for this part: those of its controllers, and the rules
	// of the ClusterRoles that the operator binds to operands, which it must have itself to bind them.
	Rules []rbacv1.PolicyRule
	// Annotators are its service accounts that annotate objects of other owners.
	Annotators []Annotator
	// Requesters are its service accounts on nodes whose pods may request the certificate of their node from the signer
	// network.openshift.io/signer. Their tokens are bound to pods.
	Requesters []Account
	// FightReporters are its service accounts that report fights on nodes by events (package fightevents): an admission policy refuses such
	// events of other accounts, since the status depends on them.
	FightReporters []Account
	// Guards are admission policies that are effective while the network is in use.
	Guards []Guard
	// Images are the images of its pods, except the operator's own.
	Images []Image
	// WayOuts are the remedies for the reasons of its conditions that only it has. cno doctor prints them.
	WayOuts []status.WayOut
}

// Annotator is a service account whose role lets it update objects of other owners, and that an admission policy restricts to some of their
// annotations, which a role cannot. The policy also restricts the operator, which has the same rules since it grants them.
type Annotator struct {
	Namespace, Name string
	// Resources are those of the core group: "nodes", "pods/status".
	Resources []string
	// Prefix is the prefix of the annotations that it may set and remove. Annotation, if not empty, is the only one, and there is no Prefix.
	Prefix, Annotation string
	// OwnPod, if not empty, is an annotation that it may also set on the pod to which its token is bound.
	OwnPod string
	// OwnNode is true if it may do so only with a token that is bound to a pod, and on objects whose spec.nodeName is the node of that pod.
	// The operator, whose token is not bound in this way, may not at all.
	OwnNode bool
	// Network is the type of the network of the account; empty for that of a component. Then the component is in use while the field of the
	// specification at the path Setting, which has a rule (Field.Fixed), has the value Value.
	Network        operatorv1.NetworkType
	Setting, Value string
	// Reserved are annotations, by resource, that no other account may set, change or remove while that network or component is in use,
	// since nodes or other parts of the network trust them.
	Reserved map[string]string
}

// Account is a service account.
type Account struct{ Namespace, Name string }

// User returns the user name of the account.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Guard is an admission policy of a network: the API server refuses violations, or warns of them, while the network is in use. The operator
// itself is never refused. Expressions may use these variables in addition to their own: pools and services, the applied networks of pods and
// Services, as lists of texts.
type Guard struct {
	// Name is the suffix of the name of the policy.
	Name string
	// Network is the type of the network with which it is effective; empty for a component. Then it is effective while the field of the specification
	// at the path Setting, which has a rule (Field.Fixed), has the value Value.
	Network        operatorv1.NetworkType
	Setting, Value string
	// Warn is true if violations are warnings. Otherwise they are refused, even if the policy cannot be evaluated, unless Open is true: then
	// the network itself checks the same.
	Warn, Open bool
	// Rules select the requests to check, Conditions restrict them further. Conditions must not use variables.
	Rules      []admissionv1.NamedRuleWithOperations
	Conditions []admissionv1.MatchCondition
	// Data returns values of the applied specification for the checks, which read params.data[key]; keys are paths of fields. Nil for none.
	Data func(*operatorv1.NetworkSpec) map[string]string
	// Variables are evaluated in their order, and only if they are used.
	Variables []admissionv1.Variable
	// Checks are the conditions that must hold.
	Checks []GuardCheck
}

// GuardCheck is one rule of a Guard.
type GuardCheck struct {
	// Valid is a CEL expression that is true for a valid request. Message is the expression of the message: the field, the value and a
	// sentence of api/rules with its identifier (Sentence.MessageCEL).
	Valid, Message string
}

// Image is an image whose reference is in the operator's environment.
type Image struct {
	// Variable is the environment variable with the reference.
	Variable string
	// Name is the name of its directory below images/, and the last part of its reference.
	Name string
}

// OperandNamespace is a namespace of operands.
type OperandNamespace struct {
	Name string
	// Protected is true if its deletion interrupts traffic, so that an admission policy refuses it while the network is in use.
	Protected bool
	// Network, if not empty, is the network type with which it is protected; empty means any.
	Network operatorv1.NetworkType
	// Installed is true if the namespace is created with the operator (config/rbac): the operator has a role there, and reads ConfigMaps
	// and Secrets.
	Installed bool
}

// Agent is a DaemonSet that changes its nodes, and cleans them when the network is uninstalled.
type Agent struct {
	Namespace, Name string
	// Files are the files that stay on a node that could not be cleaned, even after a restart of the node.
	Files []string
	// Detaches, if not nil, reports whether a pod has networks that only the agent can detach, so that it must be deleted before the agent.
	Detaches func(*corev1.Pod) bool
}

// RulesOf returns the rules of a ClusterRole in embedded assets by its name without extension. It panics if the asset is no ClusterRole,
// which is a build error.
func RulesOf(assets fs.FS, name string) []rbacv1.PolicyRule {
	role, err := manifest.Decode[rbacv1.ClusterRole](assets, "assets/"+name+".yaml")
	if err != nil {
		panic(err)
	}
	return role.Rules
}

// OperandOwner is a provider or a component that has operands.
type OperandOwner interface {
	Operands() Operands
}

// Join joins the operands of several owners.
func Join(all ...Operands) Operands {
	var out Operands
	for _, o := range all {
		out.Namespaces = append(out.Namespaces, o.Namespaces...)
		out.ClusterRoles = append(out.ClusterRoles, o.ClusterRoles...)
		out.ClusterRoleBindings = append(out.ClusterRoleBindings, o.ClusterRoleBindings...)
		out.Agents = append(out.Agents, o.Agents...)
		out.Bridges = append(out.Bridges, o.Bridges...)
		out.Plugins = append(out.Plugins, o.Plugins...)
		out.Definitions = append(out.Definitions, o.Definitions...)
		out.ConfigMaps = append(out.ConfigMaps, o.ConfigMaps...)
		out.Rules = append(out.Rules, o.Rules...)
		out.Annotators = append(out.Annotators, o.Annotators...)
		out.FightReporters = append(out.FightReporters, o.FightReporters...)
		out.Requesters = append(out.Requesters, o.Requesters...)
		out.Guards = append(out.Guards, o.Guards...)
		out.Images = append(out.Images, o.Images...)
		out.WayOuts = append(out.WayOuts, o.WayOuts...)
	}
	return out
}

// Names returns the names of the namespaces for which keep returns true; all if it is nil.
func (o Operands) Names(keep func(OperandNamespace) bool) []string {
	var names []string
	for _, n := range o.Namespaces {
		if keep == nil || keep(n) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Installed returns the names of the namespaces that are created with the operator.
func (o Operands) Installed() []string {
	return o.Names(func(n OperandNamespace) bool { return n.Installed })
}
