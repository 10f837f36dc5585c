package operator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workingPod is the cached form of a ready pod of a workload: a quarter of a Pod, of which nearly all fields would be empty.
// There is one on each node for each DaemonSet. Only podsIn reads it from the cache; Get of the cache returns an error for
// such a Pod.
type workingPod struct {
	metav1.ObjectMeta
	node string
	// since is the time at which it became ready.
	since     metav1.Time
	addresses []corev1.PodIP
	// image is that of the first container.
	image string
	// host is true for a pod on the host network.
	host bool
}

// working returns the cached form of a ready pod.
func working(p *corev1.Pod) *workingPod {
	kept := &workingPod{ObjectMeta: p.ObjectMeta, node: p.Spec.NodeName, addresses: p.Status.PodIPs, host: p.Spec.HostNetwork}
	if len(p.Spec.Containers) > 0 {
		kept.image = p.Spec.Containers[0].Image
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			kept.since = c.LastTransitionTime
		}
	}
	return kept
}

// fill overwrites a Pod with the cached one.
func (w *workingPod) fill(p *corev1.Pod) {
	conditions, containers := p.Status.Conditions[:0], p.Spec.Containers[:0]
	conditions = append(conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.since})
	*p = corev1.Pod{ObjectMeta: w.ObjectMeta}
	p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = w.node, corev1.PodRunning, conditions
	p.Spec.HostNetwork, p.Status.PodIPs = w.host, w.addresses
	if w.image != "" {
		containers = append(containers, corev1.Container{Image: w.image})
		p.Spec.Containers = containers
	}
}

// GetObjectKind returns an empty kind, as for other objects in a cache.
func (w *workingPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the cached pod as a Pod.
func (w *workingPod) DeepCopyObject() runtime.Object {
	p := &corev1.Pod{}
	w.fill(p)
	return p.DeepCopy()
}
