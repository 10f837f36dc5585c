package operator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// workingPod is what is kept of a pod of a workload that is ready: a quarter of a Pod, of which nearly all fields would be
// empty. There is one on each node for each DaemonSet. Only podsIn reads it from the cache; the cache itself, asked for such
// a Pod by its name, has an error.
type workingPod struct {
	metav1.ObjectMeta
	node string
	// since is when it became ready.
	since metav1.Time
	// addresses are those of a pod on the network of its node; nil for other pods.
	addresses []corev1.PodIP
}

// working keeps a pod that is ready.
func working(p *corev1.Pod) *workingPod {
	kept := &workingPod{ObjectMeta: p.ObjectMeta, node: p.Spec.NodeName, addresses: p.Status.PodIPs}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			kept.since = c.LastTransitionTime
		}
	}
	return kept
}

// fill makes a pod the one that was kept. What was in it is gone.
func (w *workingPod) fill(p *corev1.Pod) {
	conditions := p.Status.Conditions[:0]
	conditions = append(conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.since})
	*p = corev1.Pod{ObjectMeta: w.ObjectMeta}
	p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = w.node, corev1.PodRunning, conditions
	p.Spec.HostNetwork, p.Status.PodIPs = len(w.addresses) > 0, w.addresses
}

// GetObjectKind returns none, like objects in a cache.
func (w *workingPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the pod that was kept.
func (w *workingPod) DeepCopyObject() runtime.Object {
	p := &corev1.Pod{}
	w.fill(p)
	return p.DeepCopy()
}
