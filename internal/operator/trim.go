package operator

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/controller/signer"
)

// What is kept in memory of the objects that a large cluster has thousands of. Each function is called for an
// object that no one else sees yet, and returns what is kept of it.

// trimNode keeps what facts are made of: name, labels, age, internal addresses, kernel and whether the kubelet
// answers; and its other names, for which certificates are signed. A node as the server sends it is ten kilobytes and
// more, most of it names of images.
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
		if c.Type == corev1.NodeReady {
			kept.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.Status}}
		}
	}
	return kept, nil
}

// nodeLabels keeps the labels by which anything here selects nodes.
func nodeLabels(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if strings.HasPrefix(key, "node-role.kubernetes.io/") || key == corev1.LabelHostname || key == corev1.LabelOSStable {
			kept[strings.Clone(key)] = strings.Clone(value)
		}
	}
	return kept
}

// trimPod keeps where a pod runs, whose it is, its addresses on the network of its node, whether it is ready and, if it is not or has
// crashed often, what keeps it.
//
// What the pods of a workload have in common is kept once, in what same remembers of each workload.
func (s *same) trimPod(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	kept := &corev1.Pod{ObjectMeta: trimMeta(p.ObjectMeta)}
	kept.Namespace, kept.Labels, kept.OwnerReferences = s.of(p)
	kept.Spec.NodeName = p.Spec.NodeName
	kept.Status.Phase = p.Status.Phase
	if p.Spec.HostNetwork { // its addresses should be those of its node
		kept.Spec.HostNetwork, kept.Status.PodIPs = true, slices.Clone(p.Status.PodIPs)
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

// same is what the pods of a workload have in common: labels and owner are the same for thousands of them.
type same struct {
	mu    sync.Mutex
	known map[types.UID]*corev1.Pod
}

// workloads is for how many owners it is remembered what their pods have in common.
const workloads = 64

// of returns the namespace, the labels and the owner of a pod; those of another pod if they are equal.
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

// worksFor reports whether a pod is one of a workload's that runs as it should, which is all that is to be known of it.
func worksFor(p *corev1.Pod) bool {
	return metav1.GetControllerOfNoCopy(p) != nil && p.DeletionTimestamp == nil && !crashedOften(p.Status.ContainerStatuses)
}

// crashedOften reports whether a container has been started again several times: then it is looked at also while it is
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

// trimManagedFields drops which fields have which manager, and keeps who wrote when: it reports how long a rollout
// has been under way.
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
