package flannel

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

var (
	_ provider.MTUMigrator = Flannel{}
	_ provider.LinkChecker = Flannel{}
)

// podNamespaces is where container runtimes keep the network namespaces of pods, on the node and in the agent.
const podNamespaces = "/run/netns"

// MTUPath is the path of the field that sets the MTU of pods.
func (Flannel) MTUPath() *field.Path { return configPath.Child("mtu") }

// PodMTU returns the MTU that a filled specification gives pods, and what the backend takes for itself.
func (Flannel) PodMTU(spec *operatorv1.NetworkSpec) (mtu, extra int) {
	c := settings(spec)
	return int(*orZero(c.MTU)), overhead(c.Backend)
}

// CheckLinks refuses an MTU that, with what the backend adds, is more than a link of a node takes, and an interface that no node has.
func (f Flannel) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	missing := missingInterface(settings(spec).Interface, known.Interfaces)
	mtu, extra := f.PodMTU(spec)
	link := known.LinkMTU()
	if link == 0 || mtu+extra <= link {
		return missing
	}
	return append(missing, field.Invalid(f.MTUPath(), mtu, fmt.Sprintf("needs links of at least %d (%s adds %d), and a node has one of %d; use %d or less, or leave it out, or raise the links first and delete the ConfigMap mtu, so that nodes are asked again",
		mtu+extra, settings(spec).Backend, extra, link, link-extra)).WithOrigin("mtu-links"))
}

// missingInterface refuses the name of an interface that no node has. That only some have it is reported by the agents of the others.
func missingInterface(name string, known []string) field.ErrorList {
	if name == "" || len(known) == 0 || slices.Contains(known, name) {
		return nil
	}
	const most = 10
	has, more := known, ""
	if len(has) > most {
		has, more = has[:most], fmt.Sprintf(" and %d more", len(known)-most)
	}
	return field.ErrorList{field.Invalid(configPath.Child("interface"), name, fmt.Sprintf("is an interface that no node has; write one that every node has and that has an address (nodes have %s%s), or leave it out for that of the default route; if nodes have got it since they were asked, delete the ConfigMap mtu, so that they are asked again",
		strings.Join(has, ", "), more)).WithOrigin("interface-missing")}
}

// migration returns the change of the MTU that a specification announces; nil if it announces none.
func migration(spec *operatorv1.NetworkSpec) *osv1.MTUMigrationValues {
	if spec == nil || spec.Migration == nil || spec.Migration.MTU == nil || spec.Migration.MTU.Network == nil {
		return nil
	}
	if n := spec.Migration.MTU.Network; n.From != nil && n.To != nil {
		return n
	}
	return nil
}

// migratedMTU is the MTU of a specification that announces a change of it: that of before until all nodes have the new
// one, and the new one from then on. When the announcement is removed, the MTU of that time stays.
func migratedMTU(m osv1.MTUMigrationValues, before uint32, progress facts.MTUMigration) *uint32 {
	if progress.Reached(int(*m.To)) {
		return new(*m.To)
	}
	return new(before)
}

// migrate completes what agents are told by the step that a change of the MTU is in, and returns the change; nil if there
// is none.
//
// At every moment, nodes are one step apart at most. There are two kinds of steps: steady ones, in which interfaces have
// one MTU and packets are as long, and one between two steady ones, in which interfaces take the longer packets and
// send the shorter ones. Nodes in it get on with nodes in either. So from steady to steady there is always that one
// step between, which all nodes must have reported, also on the way back.
func (o observed) migrate(spec *operatorv1.NetworkSpec, config *agentconfig.Config, progress facts.MTUMigration) *record.Migration {
	m, told, target := migration(spec), o.told, config.MTU
	if m != nil {
		target = int(*m.To)
	}
	if told == nil || told.Migration == nil && (m == nil || told.MTU == target) {
		return nil // no one uses the network yet, or all of it does as it should
	}
	now := agentconfig.MTUMigration{}
	if told.Migration != nil {
		now = *told.Migration
	}
	reported := progress.Done && progress.Step == now.Step && progress.MTU == told.MTU && progress.RoutableMTU == now.RoutableMTU
	config.MTU, config.Migration = told.MTU, told.Migration
	change := &record.Migration{From: told.MTU, To: target, Announced: m != nil}
	switch {
	case now.RoutableMTU != 0:
		change.From = told.MTU + now.RoutableMTU - target
		if reported && (target == told.MTU || target == now.RoutableMTU) {
			tell(config, target, 0, now.Step+1)
		}
	case told.MTU != target:
		if reported || now.Step > 0 {
			tell(config, max(told.MTU, target), min(told.MTU, target), now.Step+1)
		}
	default:
		change.From = target
		if reported && m == nil {
			config.Migration = nil
			return nil
		}
	}
	return change
}

func tell(config *agentconfig.Config, mtu, routable, step int) {
	config.MTU, config.Migration = mtu, &agentconfig.MTUMigration{Step: step, RoutableMTU: routable, PodNamespaces: podNamespaces}
}

// enterPods lets an agent change the interfaces of pods: for as long as a migration takes.
func enterPods(pod *corev1.PodSpec) {
	agent := &pod.Containers[0]
	agent.SecurityContext.Capabilities.Add = append(agent.SecurityContext.Capabilities.Add, "SYS_ADMIN")
	agent.VolumeMounts = append(agent.VolumeMounts, corev1.VolumeMount{Name: "pod-namespaces", MountPath: podNamespaces, MountPropagation: new(corev1.MountPropagationHostToContainer)})
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "pod-namespaces", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: podNamespaces, Type: new(corev1.HostPathDirectoryOrCreate)},
	}})
}
