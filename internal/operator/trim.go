package operator

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/controller/signer"
	"github.com/cluster-network-operator/cno/internal/networks"
)

// The transforms of objects of which a large cluster has thousands. Each function is called with an object that is not
// shared yet, and returns the trimmed object for the cache.

// trimNode keeps the fields that facts need: name, labels, age, internal addresses, kernel and the condition Ready, with its
// cause if it is not ready; its other names, for which certificates are signed; whether it is cordoned; and its blocks of pod
// addresses as podCIDRs, wherever the network keeps them. An untrimmed node has ten kilobytes and more, most of it names of
// images.
func trimNode(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	kept := &corev1.Node{ObjectMeta: trimMeta(n.ObjectMeta)}
	kept.Labels = nodeLabels(n.Labels)
	for _, a := range n.Status.Addresses {
		other := a.Type == corev1.NodeHostName || a.Type == corev1.NodeInternalDNS
		if a.Type == corev1.NodeInternalIP || other && a.Address != n.Name {
			kept.Status.Addresses = append(kept.Status.Addresses, corev1.NodeAddress{Type: a.Type, Address: strings.Clone(a.Address)})
		}
	}
	if id, ok := n.Annotations[signer.ChassisAnnotation]; ok {
		kept.Annotations = map[string]string{signer.ChassisAnnotation: strings.Clone(id)}
	}
	kept.Status.NodeInfo.KernelVersion = strings.Clone(n.Status.NodeInfo.KernelVersion)
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: c.Status}
		if c.Status != corev1.ConditionTrue {
			ready.Reason, ready.Message = strings.Clone(c.Reason), strings.Clone(c.Message)
		}
		kept.Status.Conditions = []corev1.NodeCondition{ready}
	}
	kept.Spec.Unschedulable = n.Spec.Unschedulable
	for _, block := range networks.Blocks(n) {
		kept.Spec.PodCIDRs = append(kept.Spec.PodCIDRs, block.String())
	}
	return kept, nil
}

// nodeLabels keeps the labels by which the operator selects nodes.
func nodeLabels(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if strings.HasPrefix(key, "node-role.kubernetes.io/") || key == corev1.LabelHostname || key == corev1.LabelOSStable {
			kept[strings.Clone(key)] = strings.Clone(value)
		}
	}
	return kept
}

// trimPod keeps the node, the owner, the addresses, the image of the first container and readiness of a pod and, if it is not ready or has
// crashed repeatedly, the cause.
//
// Values that the pods of a workload have in common are shared by same.
func (s *same) trimPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	kept := &corev1.Pod{ObjectMeta: trimMeta(p.ObjectMeta)}
	kept.Namespace, kept.Labels, kept.OwnerReferences = s.of(p)
	kept.Spec.NodeName = p.Spec.NodeName
	kept.Status.Phase = p.Status.Phase
	// Those of a pod on the host network are compared with those of its node; those of others may be the only hint at the block of the node.
	kept.Spec.HostNetwork, kept.Status.PodIPs = p.Spec.HostNetwork, slices.Clone(p.Status.PodIPs)
	if len(p.Spec.Containers) > 0 {
		kept.Spec.Containers = []corev1.Container{{Image: unique.Make(p.Spec.Containers[0].Image).Value()}}
	}
	kept.Status.Reason, kept.Status.Message = p.Status.Reason, p.Status.Message
	ready := false
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			kept.Status.Conditions = append(kept.Status.Conditions, corev1.PodCondition{
				Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
		}
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	if ready && worksFor(p) {
		return working(kept), nil
	}
	if !ready || crashedOften(p.Status.ContainerStatuses) {
		kept.Status.InitContainerStatuses = trimContainers(p.Status.InitContainerStatuses)
		kept.Status.ContainerStatuses = trimContainers(p.Status.ContainerStatuses)
	}
	return kept, nil
}

// same shares the values that thousands of pods of a workload have in common: labels and owner.
type same struct {
	mu    sync.Mutex
	known map[types.UID]*corev1.Pod
}

// workloads is the maximum number of owners whose values are shared.
const workloads = 64

// of returns the namespace, the labels and the owner of a pod, shared with another pod if they are equal.
func (s *same) of(p *corev1.Pod) (string, map[string]string, []metav1.OwnerReference) {
	if len(p.OwnerReferences) == 0 {
		return p.Namespace, p.Labels, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := p.OwnerReferences[0].UID
	if other := s.known[owner]; other != nil && other.Namespace == p.Namespace && maps.Equal(other.Labels, p.Labels) && equality.Semantic.DeepEqual(other.OwnerReferences, p.OwnerReferences) {
		return other.Namespace, other.Labels, other.OwnerReferences
	}
	if s.known == nil || len(s.known) >= workloads {
		s.known = map[types.UID]*corev1.Pod{}
	}
	s.known[owner] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Labels: p.Labels, OwnerReferences: p.OwnerReferences}}
	return p.Namespace, p.Labels, p.OwnerReferences
}

// worksFor reports whether a pod of a workload is ready and has not crashed repeatedly, so that no details are needed.
func worksFor(p *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(p) != nil && p.DeletionTimestamp == nil && !crashedOften(p.Status.ContainerStatuses)
}

// crashedOften reports whether a container has been restarted several times: then its state is kept even while it is
// ready.
func crashedOften(statuses []corev1.ContainerStatus) bool {
	const several = 3
	return slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool { return s.RestartCount >= several })
}

func trimContainers(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range statuses {
		kept = append(kept, corev1.ContainerStatus{Name: s.Name, Image: s.Image, Ready: s.Ready, RestartCount: s.RestartCount, State: s.State, LastTerminationState: s.LastTerminationState})
	}
	return kept
}

func trimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
	}
}

// trimManagedFields drops the fields of managedFields and keeps managers and times, from which the duration of a rollout
// is computed.
func trimManagedFields(o any) (any, error) {
	object, err := meta.Accessor(o)
	if err != nil {
		return o, nil
	}
	managers := object.GetManagedFields()
	if managers == nil {
		return o, nil
	}
	for i := range managers {
		managers[i].FieldsV1 = nil
		managers[i].FieldsType = ""
	}
	object.SetManagedFields(managers)
	return o, nil
}
