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

// Traits are the capabilities of a provider as data, for the rest of the operator.
type Traits struct {
	// Type is the name in spec.defaultNetwork.type.
	Type operatorv1.NetworkType
	// Default is true for the network of specifications that omit the type. There is at most one.
	Default bool
	// ServiceProxy is true if the provider serves Services itself, so that no kube-proxy is deployed by default.
	ServiceProxy bool
	// KubeProxy describes how kube-proxy runs with the network.
	KubeProxy KubeProxySupport
	// HostPrefix is true if the provider assigns each node a block of spec.clusterNetwork[].hostPrefix length.
	HostPrefix bool
	// DualStack is true if pods can have addresses of both IP families.
	DualStack bool
	// IPv6 is true if pods can have IPv6 addresses.
	IPv6 bool
	// MaxClusterNetworks is the maximum number of entries of spec.clusterNetwork; 0 means no limit.
	MaxClusterNetworks int
	// GrowPools is true if an entry of spec.clusterNetwork may get a shorter prefix with the same base while the network is
	// in use, without interruption of traffic; nodes keep their blocks and pods their addresses. Without it, the entries
	// cannot be changed.
	GrowPools bool
	// ConvertDualStack is true if a second IP family may be added and removed while the network is in use.
	ConvertDualStack bool
	// ServiceCIDRs is true if Services may have addresses of ServiceCIDR objects that spec.serviceNetwork does not contain.
	// Without it the API server refuses such objects while the network is in use.
	ServiceCIDRs bool
	// Policies is the support for NetworkPolicies. The console of OpenShift offers only supported features.
	Policies PolicySupport
	// MTUMigration is true if the provider supports spec.migration.mtu.
	MTUMigration bool
	// HostMTU is true if the provider's defaults need facts.Cluster.HostMTU on a new cluster. While that is 0 and a default
	// depends on it, Default may return anything: the pipeline detects that and stops.
	HostMTU bool
	// Implements are the paths of fields with NeedsNetwork that this network implements. Other such fields are accepted with
	// this network, and reported as fields without effect.
	Implements []string
	// NotBuilt, if not empty, is the message for a known type that cannot be installed yet. No stage after Validate is
	// called for such a provider.
	NotBuilt string
}

// KubeProxySupport describes how kube-proxy runs with a network. The zero value means that the component kube-proxy runs in any mode and
// recognizes pods by the pools.
type KubeProxySupport struct {
	// Own is true if the provider runs kube-proxy in its own pods with spec.kubeProxyConfig, unless spec.deployKubeProxy is true:
	// then the component runs instead.
	Own bool
	// LocalBridge, if not empty, is the default interface by which kube-proxy recognizes the pods of its node.
	LocalBridge string
	// Modes, if not empty, are the only modes that work with the network.
	Modes []string
}

// PolicySupport is the support of a network for NetworkPolicies. The zero value is a network without egress policies.
type PolicySupport struct {
	// Egress is true if egress rules are enforced.
	Egress bool
	// IPBlockExceptions is true if spec.{ingress,egress}[].{from,to}[].ipBlock.except is enforced.
	IPBlockExceptions bool
}

// Provider is a network that the operator can install. Validate, Default and CheckChange are pure, never change their
// arguments and never panic for any input. Default is only called with a specification that Validate accepts, or with one
// that was applied before.
//
// Errors are field errors. Their paths begin with field.NewPath("spec"). Their Detail continues the value ("must be
// between 1 and 65535"), or is a sentence that names the value itself, and ends with the way out. Their Origin is the
// rule: a short identifier in lower case with dashes ("flannel-vni-range"), set with WithOrigin, that never changes, since
// tools read it. For a change, the Detail describes what cannot be changed and why; the pipeline adds the old and the new
// value in front.
type Provider interface {
	Traits() Traits
	// Validate returns all errors in the provider's part of the specification, and in the pools as far as this provider
	// restricts them. The pipeline checks the rules that all providers share.
	Validate(spec *operatorv1.NetworkSpec) field.ErrorList
	// Default returns a new specification with every setting of the provider explicit. It carries forward values that must
	// not change, or were computed at run time, from prev, which is nil on a new cluster. It is idempotent.
	Default(spec, prev *operatorv1.NetworkSpec, f facts.Cluster) *operatorv1.NetworkSpec
	// CheckChange returns an error for every unsafe change from prev to next, both filled and of this provider's type. The
	// pipeline checks changes of the pools and of the type.
	CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList
	// Fields describes the effect of a change for every field of the provider's part of the specification.
	Fields() []Field
	// Observe reads the input of rendering from the cluster. It writes nothing. Its reader is nil without a cluster
	// (offline rendering): then the result is that of a new one.
	Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (Renderer, error)
}

// Workload is a workload that spec.workloads may override.
type Workload struct {
	// Name is the label "app" of its pods, which users specify.
	Name string
	// Placed is true if the operator decides on which nodes it runs: all of them, or those with its data.
	Placed bool
	// Rolling is true for a DaemonSet whose maxUnavailable may be chosen.
	Rolling bool
	// Env are the variables that the operator sets in its main container.
	Env []string
	// Ingress and Egress are the connections that its pods accept and open, if they are on the pod network. The pipeline renders
	// NetworkPolicies that deny all others; without rules, they deny all connections. Pods on the host network need no rules.
	Ingress []networkingv1.NetworkPolicyIngressRule
	Egress  []networkingv1.NetworkPolicyEgressRule
}

// WorkloadOwner is a provider or a component that has workloads.
type WorkloadOwner interface {
	Workloads() []Workload
}

// MTUMigrator is a provider whose Traits.MTUMigration is true because it changes the MTU itself.
type MTUMigrator interface {
	// PodMTU returns the MTU of pods in bytes for a filled specification, without that of an unfinished migration, and the
	// overhead in bytes of each packet between nodes. mtu is 0 if the specification does not set it.
	PodMTU(spec *operatorv1.NetworkSpec) (mtu, overhead int)
	// MTUPath returns the path of the field that sets the MTU.
	MTUPath() *field.Path
}

// MTUReporter is an MTUMigrator whose agents report the progress of an MTU migration by an annotation of their pods (mtumigration.Annotation). The
// operator's controller mtuprogress watches them; other networks have their own controller.
type MTUReporter interface {
	Provider
	MTUMigrator
	// MTUAgents returns the agents.
	MTUAgents() MTUAgents
}

// MTUAgents describes the agents of an MTU migration.
type MTUAgents struct {
	// Component is the network's name in conditions.
	Component string
	// Namespace contains the ConfigMap with the migration (mtumigration.RecordKey), and the agents' pods with the label app.
	Namespace, ConfigMap, App string
}

// LinkChecker is a provider whose packets have to fit the links of nodes.
type LinkChecker interface {
	// CheckLinks returns an error for every setting of a filled specification that the known links of the nodes do not
	// carry; none while no links are known. It is pure. The pipeline calls it on a new cluster, and for changes: an applied
	// setting is not refused because a node with a lower MTU has joined.
	CheckLinks(spec *operatorv1.NetworkSpec, f facts.Cluster) field.ErrorList
}

// Renderer has the observed state of a provider and renders the objects of a filled specification.
type Renderer interface {
	Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (Output, error)
}

// Output is the rendered output of a provider.
type Output struct {
	Objects []manifest.Object
	// MTU is the MTU of pods in bytes; 0 if the provider does not set it.
	MTU int
	// Waiting, if not empty, is a sentence about what rendering waits for. Objects are then incomplete, and nothing is
	// deleted.
	Waiting string
	// Unavailable, if not empty, is a sentence about why an enabled component does not work. It becomes
	// <Component>Available=False, and blocks neither other components nor deletion.
	Unavailable string
	// Problems are sentences about settings that have no effect although the component works. They become
	// <Component>Degraded, and block nothing.
	Problems []string
	// Failures are problems in the cluster that the specification does not cause, each with its own reason. They become
	// <Component>Degraded and Degraded immediately, and block nothing.
	Failures []Failure
	// Notes are properties of a working component that users should know, each with its own reason. They become the message of
	// <Component>Available=True, and neither degrade nor block anything.
	Notes []Note
	// Again is the duration after which the part has to be observed again without an event; 0 means never.
	Again time.Duration
}

// Failure is a reason of a condition, and a sentence.
type Failure struct{ Reason, Message string }

// Note is a reason in the message of a condition, and a sentence.
type Note struct{ Reason, Message string }

// Component is a part that is deployed in addition to the default network of any type: kube-proxy, the parts for multiple
// networks. It obeys the contract of Provider, except that it is not chosen by type. The two stay separate interfaces: a component is enabled or
// not and gets the traits of the network, a provider has them, and neither would implement the other's methods with a meaning.
type Component interface {
	// Name is the name of the component in conditions, for example "KubeProxy".
	Name() string
	// Enabled reports whether a filled specification enables the component.
	Enabled(spec *operatorv1.NetworkSpec) bool
	// Validate returns all errors in the component's part of the specification. It is called whether or not the component
	// is enabled.
	Validate(spec *operatorv1.NetworkSpec, t Traits) field.ErrorList
	// Default returns a new specification with every setting of the component explicit.
	Default(spec, prev *operatorv1.NetworkSpec, t Traits, f facts.Cluster) *operatorv1.NetworkSpec
	// CheckChange returns an error for every unsafe change of the component's part from prev to next.
	CheckChange(prev, next *operatorv1.NetworkSpec) field.ErrorList
	// Fields describes the effect of a change for every field of the component's part of the specification.
	Fields() []Field
	// Observe reads the input of rendering from the cluster, as Provider.Observe does.
	Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (Renderer, error)
}
