// Package provider is the contract between the operator and the networks it can install. A provider is a
// directory below providers/; nothing outside that directory asks which provider it has, only for its traits.
package provider

import (
	"context"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// Traits are what the rest of the operator needs to know of a provider: data, not code.
type Traits struct {
	// Type is the name in spec.defaultNetwork.type.
	Type operatorv1.NetworkType
	// ServiceProxy is true if the provider serves services itself, so that no kube-proxy is deployed by default.
	ServiceProxy bool
	// KubeProxy is how Kubernetes' kube-proxy runs with the network.
	KubeProxy KubeProxySupport
	// HostPrefix is true if the provider gives each node a block of spec.clusterNetwork[].hostPrefix length.
	HostPrefix bool
	// DualStack is true if pods can have addresses of both families.
	DualStack bool
	// IPv6 is true if pods can have IPv6 addresses.
	IPv6 bool
	// MaxClusterNetworks is the most entries that spec.clusterNetwork may have; 0 means any number.
	MaxClusterNetworks int
	// GrowPools is true if an entry of spec.clusterNetwork may get a shorter prefix, its base unchanged, while the
	// network is in use, with nodes and pods keeping what they have and traffic going on. Without it, the entries
	// cannot be changed.
	GrowPools bool
	// ConvertDualStack is true if a second IP family may be added and removed while the network is in use.
	ConvertDualStack bool
	// ServiceCIDRs is true if Services may have addresses of ServiceCIDR objects that spec.serviceNetwork does not contain.
	// Without it the API server refuses such objects while the network is in use.
	ServiceCIDRs bool
	// Policies is what the network enforces of NetworkPolicies. The console of OpenShift offers only that.
	Policies PolicySupport
	// MTUMigration is true if the provider understands spec.migration.mtu.
	MTUMigration bool
	// HostMTU is true if the provider's defaults need facts.Cluster.HostMTU on a fresh cluster. While that is 0 and
	// a default depends on it, Default may return anything: the pipeline notices and stops.
	HostMTU bool
	// Implements are the paths of the fields that only some networks implement (NeedsNetwork) and this one does. All others
	// of them are accepted with this network, and reported as fields without effect.
	Implements []string
	// NotBuilt, if not empty, is the sentence with which a type that is known but cannot be installed yet
	// answers. No stage of such a provider after Validate is ever called.
	NotBuilt string
}

// KubeProxySupport is how kube-proxy runs with a network. The zero value is a network beside which the component kube-proxy runs, in every
// mode, and recognizes pods by the pools.
type KubeProxySupport struct {
	// Own is true if the provider runs kube-proxy in pods of its own, by spec.kubeProxyConfig, unless spec.deployKubeProxy is true:
	// then the component runs instead.
	Own bool
	// LocalBridge, if not empty, is the interface by which kube-proxy recognizes the pods of its node, unless arguments say otherwise.
	LocalBridge string
	// Modes, if not empty, are the only modes that work with the network.
	Modes []string
}

// PolicySupport is what a network enforces of NetworkPolicies. The zero value is a network without egress policies.
type PolicySupport struct {
	// Egress is true if egress rules are enforced.
	Egress bool
	// IPBlockExceptions is true if spec.{ingress,egress}[].{from,to}[].ipBlock.except is enforced.
	IPBlockExceptions bool
}

// Provider is a network that the operator can install. Validate, Default and CheckChange are pure, never
// change their arguments and never panic, whatever a user has written. Default is only called with what Validate
// found nothing wrong with, or with what was applied before.
//
// What is wrong is reported as field errors. Their paths begin with field.NewPath("spec"). Their Detail goes on from
// the value ("must be between 1 and 65535"), or is a sentence that names the value itself, and ends with the way
// out. Their Origin is the rule: a short name in lower case with dashes that stays the same for good, since tools
// read it ("flannel-vni-range"), set with WithOrigin. For a change, the Detail says what cannot be changed and why;
// the pipeline looks up the old and the new value, and puts them in front.
type Provider interface {
	Traits() Traits
	// Validate returns everything that is wrong with the provider's part of the specification, and with the
	// pools as far as this provider restricts them. Rules that hold for every provider are not its business.
	Validate(spec *operatorv1.NetworkSpec) field.ErrorList
	// Default returns a new specification with every setting of the provider explicit. Values that may not
	// change, or were computed at run time, are carried forward from prev, which is nil on a fresh cluster.
	// It is idempotent.
	Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec
	// CheckChange returns every change from prev to next that is unsafe, both already filled, both of this
	// provider's type. Changes of the pools and of the type are checked by the pipeline.
	CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList
	// Fields says of every field below the provider's part of the specification what its change means.
	Fields() []Field
	// Observe reads what rendering needs from the cluster. It writes nothing. Its reader may be nil when there
	// is no cluster (offline rendering): then it answers as for a fresh one.
	Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (Renderer, error)
}

// Workload is one that spec.workloads may override.
type Workload struct {
	// Name is the label "app" of its pods, by which users name it.
	Name string
	// Placed is true if the operator decides on which nodes it runs: all of them, or those that hold its data.
	Placed bool
	// Rolling is true for a DaemonSet whose maxUnavailable may be chosen.
	Rolling bool
	// Env are the variables that the operator sets in its main container.
	Env []string
	// Ingress and Egress are the connections that its pods accept and open, if they are on the pod network. The pipeline renders
	// NetworkPolicies that deny all others; without rules, that is every connection. Pods on the nodes' network need no rules.
	Ingress []networkingv1.NetworkPolicyIngressRule
	Egress  []networkingv1.NetworkPolicyEgressRule
}

// WorkloadOwner is a provider or a component that has workloads.
type WorkloadOwner interface {
	Workloads() []Workload
}

// MTUMigrator is a provider whose Traits.MTUMigration is true because it changes the MTU itself.
type MTUMigrator interface {
	// PodMTU returns the MTU in bytes that a filled specification gives pods, which is not that of a migration that
	// has yet to finish, and how many bytes of each packet between nodes the network takes for itself. mtu is 0 if
	// the specification does not say.
	PodMTU(spec *operatorv1.NetworkSpec) (mtu, overhead int)
	// MTUPath is the path of the field that sets it.
	MTUPath() *field.Path
}

// MTUReporter is an MTUMigrator whose agents report by their pods (mtumigration.Annotation) what they have done of a change of the MTU. The operator's
// controller mtuprogress watches them; other networks have a controller of their own that does.
type MTUReporter interface {
	Provider
	MTUMigrator
	// MTUAgents is where the controller finds them.
	MTUAgents() MTUAgents
}

// MTUAgents is where a network has what it changes the MTU by.
type MTUAgents struct {
	// Component is the network's name in conditions.
	Component string
	// Namespace has the ConfigMap with the change (mtumigration.RecordKey), and the agents' pods with the label app.
	Namespace, ConfigMap, App string
}

// LinkChecker is a provider whose packets have to fit the links of nodes.
type LinkChecker interface {
	// CheckLinks returns every setting of a filled specification that the links of the nodes do not carry, by what is
	// known of them. While nothing is known, it returns nothing. It is pure. The pipeline asks when nothing is applied
	// yet, and for what changes: what is in use is not refused because a node with less has joined.
	CheckLinks(spec *operatorv1.NetworkSpec, f facts.Cluster) field.ErrorList
}

// Renderer owns what a provider observed, and turns a filled specification into objects.
type Renderer interface {
	Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (Output, error)
}

// Output is what a provider wants to be in the cluster.
type Output struct {
	Objects []manifest.Object
	// MTU is the MTU in bytes that pods get; 0 means that the provider does not say.
	MTU int
	// Waiting, if not empty, is a sentence that says what rendering waits for. Objects are then incomplete, and
	// nothing is deleted.
	Waiting string
	// Unavailable, if not empty, is a sentence that says why a component does not serve although it is asked
	// for. It becomes <Component>Available=False, and holds nothing up: neither the rest, nor deletion.
	Unavailable string
	// Problems are sentences that say what of the specification does not work although the component does. They become
	// <Component>Degraded, and hold nothing up.
	Problems []string
	// Failures are what does not work in the cluster although the specification is right, each for a reason of its own. They become
	// <Component>Degraded and Degraded at once, and hold nothing up.
	Failures []Failure
	// Again is after how long the part has to be observed again although no event occurs; 0 is never.
	Again time.Duration
}

// Failure is a reason of a condition, and a sentence.
type Failure struct{ Reason, Message string }

// Component is a part that is deployed beside the default network, whatever its type: kube-proxy, the
// parts for multiple networks. It obeys the contract of Provider but for being chosen by type.
type Component interface {
	// Name is the name of the component in conditions, for example "KubeProxy".
	Name() string
	// Enabled reports whether a filled specification asks for the component.
	Enabled(spec *operatorv1.NetworkSpec) bool
	// Validate returns everything that is wrong with the component's part of the specification. It is called
	// whether or not the component is enabled.
	Validate(spec *operatorv1.NetworkSpec, t Traits) field.ErrorList
	// Default returns a new specification with every setting of the component explicit.
	Default(spec, prev *operatorv1.NetworkSpec, t Traits, f facts.Cluster) *operatorv1.NetworkSpec
	// CheckChange returns every unsafe change of the component's part from prev to next.
	CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList
	// Fields says of every field of the component's part of the specification what its change means.
	Fields() []Field
	// Observe reads what rendering needs from the cluster, as Provider.Observe does.
	Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (Renderer, error)
}
