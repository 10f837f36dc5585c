package provider

import (
	"io/fs"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Operands names what a provider or a component has in a cluster and on its nodes with any specification. The admission policies
// that protect a network and that narrow the operator's account, the roles of that account (config/rbac), cno doctor and cno uninstall
// use it. The zero value is a part
// without objects.
type Operands struct {
	// Namespaces are those of its objects, in which the operator may write.
	Namespaces []OperandNamespace
	// ClusterRoles and ClusterRoleBindings are the names of those that the operator writes.
	ClusterRoles        []string
	ClusterRoleBindings []string
	// Agents are the DaemonSets that change nodes.
	Agents []Agent
	// Bridges are the bridges of nodes to which the network attaches pods, by which other pods' traffic could be reached.
	Bridges []string
	// Definitions are the names of the CRDs that it installs where no other component has, and then updates and deletes.
	Definitions []string
	// ConfigMaps are the names of those that the operator changes and deletes.
	ConfigMaps []string
	// Rules are what the operator's account must be allowed for this part alone, in all namespaces: what its controllers do, and the rules
	// of the ClusterRoles that the operator binds to operands, which it can do only with those rules itself.
	Rules []rbacv1.PolicyRule
	// Annotators are its service accounts that annotate objects of others.
	Annotators []Annotator
	// Requesters are its service accounts on nodes that may have certificates of their node from the signer network.openshift.io/signer.
	Requesters []Requester
	// Guards are what admission policies refuse while the network is in use.
	Guards []Guard
	// Images are the images of its pods but for the operator's own.
	Images []Image
}

// Annotator is a service account whose role lets it update objects of others, and that an admission policy keeps to some of their
// annotations: a role cannot. The policy keeps the operator to them, too, which has the same rules since it grants them.
type Annotator struct {
	Namespace, Name string
	// Resources are those of the core group: "nodes", "pods/status".
	Resources []string
	// Prefix begins the annotations that it may set and remove. Annotation, if not empty, is the only one, and there is no Prefix.
	Prefix, Annotation string
	// OwnPod, if not empty, is an annotation that it may set on the pod to which its token is bound, besides.
	OwnPod string
	// OwnNode is true if it may do so only with a token that is bound to a pod, and on objects whose spec.nodeName is the node of that pod.
	// The operator, whose token says nothing of the kind, may not at all.
	OwnNode bool
	// Network is the type of the network whose account it is; empty if it is that of a component. Then the component is in use while the field
	// of the specification at the path Setting, which has a rule (Field.Fixed), has the value Value.
	Network        operatorv1.NetworkType
	Setting, Value string
	// Reserved are annotations, by resource, that no other account may set, change or remove while that network or component is in use:
	// nodes, or other parts of the network, believe them.
	Reserved map[string]string
}

// Requester is a service account whose pods request the certificate of their node. Their tokens are bound to pods.
type Requester struct{ Namespace, Name string }

// Guard is an admission policy of a network: what the API server refuses, or warns of, while the network is in use. The operator itself is
// never refused. Expressions may use these variables beside their own: pools and services, the networks of pods and Services that are
// applied, as lists of texts.
type Guard struct {
	// Name ends the name of the policy.
	Name string
	// Network is the type of the network with which it is in effect; empty for a component. Then it is in effect while the field of the specification at
	// the path Setting, which has a rule (Field.Fixed), has the value Value.
	Network        operatorv1.NetworkType
	Setting, Value string
	// Warn is true if violations are warnings. Otherwise they are refused, also where the policy cannot be evaluated, unless Open is true: nothing
	// depends on the policy then, as the network checks the same.
	Warn, Open bool
	// Rules say which requests are checked, Conditions which of those; all if there are none. Conditions may not use variables.
	Rules      []admissionv1.NamedRuleWithOperations
	Conditions []admissionv1.MatchCondition
	// Variables are evaluated in their order, and only when they are used.
	Variables []admissionv1.Variable
	// Checks are what has to hold.
	Checks []GuardCheck
}

// GuardCheck is one rule of a Guard.
type GuardCheck struct {
	// Valid is the CEL expression that is true for a valid request, Message that of the message: the field, the value and a sentence of
	// api/rules with its identifier (Sentence.MessageCEL).
	Valid, Message string
}

// Image is an image that the operator finds in its environment.
type Image struct {
	// Variable is the environment variable that has the reference.
	Variable string
	// Name is the name of its directory below images/, and the last part of its reference.
	Name string
}

// OperandNamespace is a namespace of operands.
type OperandNamespace struct {
	Name string
	// Protected is true if its deletion interrupts traffic, so that an admission policy refuses it while the network is in use.
	Protected bool
	// Network, if not empty, is the type of network with which it is protected; otherwise it is with any.
	Network operatorv1.NetworkType
	// Installed is true if the namespace is created with the operator (config/rbac): the operator has a role there, and reads ConfigMaps
	// and Secrets.
	Installed bool
}

// Agent is a DaemonSet that changes its nodes, and cleans them when the network is uninstalled.
type Agent struct {
	Namespace, Name string
	// Files are what stays on a node that it could not clean, even after the node has restarted.
	Files []string
}

// RulesOf returns the rules of a ClusterRole among embedded assets, by its name without extension. It panics if that is not a ClusterRole:
// assets are part of the program.
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

// Join returns the operands of several owners as one.
func Join(all ...Operands) Operands {
	var out Operands
	for _, o := range all {
		out.Namespaces = append(out.Namespaces, o.Namespaces...)
		out.ClusterRoles = append(out.ClusterRoles, o.ClusterRoles...)
		out.ClusterRoleBindings = append(out.ClusterRoleBindings, o.ClusterRoleBindings...)
		out.Agents = append(out.Agents, o.Agents...)
		out.Bridges = append(out.Bridges, o.Bridges...)
		out.Definitions = append(out.Definitions, o.Definitions...)
		out.ConfigMaps = append(out.ConfigMaps, o.ConfigMaps...)
		out.Rules = append(out.Rules, o.Rules...)
		out.Annotators = append(out.Annotators, o.Annotators...)
		out.Requesters = append(out.Requesters, o.Requesters...)
		out.Guards = append(out.Guards, o.Guards...)
		out.Images = append(out.Images, o.Images...)
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
