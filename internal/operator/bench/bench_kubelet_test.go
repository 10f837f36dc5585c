package bench

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// probePrefix is what the names of probes begin with.
const probePrefix = "mtu-prober-"

// kubelet stands in for all kubelets and for the controllers of workloads: workloads are reported as running at once,
// and probes answer at once.
type kubelet struct {
	api   kubernetes.Interface
	nodes int32
	// silent probes do not answer.
	silent atomic.Bool
	// away is true while a benchmark sets the status of workloads itself.
	away atomic.Bool
	// probes is how many there are, most how many there were at one time, answers how many have answered.
	probes, most, answers atomic.Int64
}

func startKubelet(b testing.TB, config *rest.Config, nodes int) *kubelet {
	b.Helper()
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS = "bench-kubelet", -1
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	k := &kubelet{api: api, nodes: int32(nodes)}
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(api, 0)
	probes := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(namespace))
	for _, informer := range []cache.SharedIndexInformer{
		factory.Apps().V1().DaemonSets().Informer(), factory.Apps().V1().Deployments().Informer(), probes.Core().V1().Pods().Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { k.added(ctx, o) }, UpdateFunc: func(_, o any) { k.see(ctx, o) }, DeleteFunc: k.deleted,
		}); err != nil {
			b.Fatal(err)
		}
	}
	for _, f := range []informers.SharedInformerFactory{factory, probes} {
		f.Start(ctx.Done())
		f.WaitForCacheSync(ctx.Done())
	}
	b.Cleanup(func() { stop(); factory.Shutdown(); probes.Shutdown() })
	return k
}

func (k *kubelet) added(ctx context.Context, o any) {
	if isProbe(o) {
		now := k.probes.Add(1)
		k.most.Store(max(k.most.Load(), now))
	}
	k.see(ctx, o)
}

func (k *kubelet) deleted(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	if isProbe(o) {
		k.probes.Add(-1)
	}
}

func isProbe(o any) bool {
	pod, ok := o.(*corev1.Pod)
	return ok && strings.HasPrefix(pod.Name, probePrefix)
}

// see updates the status of an object as its controller would. A conflict is followed by another event.
func (k *kubelet) see(ctx context.Context, o any) {
	if k.away.Load() {
		return
	}
	switch o := o.(type) {
	case *appsv1.DaemonSet:
		if o.Status.ObservedGeneration != o.Generation || o.Status.NumberAvailable != k.nodes {
			o = o.DeepCopy()
			o.Status = appsv1.DaemonSetStatus{ObservedGeneration: o.Generation, DesiredNumberScheduled: k.nodes, CurrentNumberScheduled: k.nodes,
				UpdatedNumberScheduled: k.nodes, NumberAvailable: k.nodes, NumberReady: k.nodes}
			_, _ = k.api.AppsV1().DaemonSets(o.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
		}
	case *appsv1.Deployment:
		if n := *o.Spec.Replicas; o.Status.ObservedGeneration != o.Generation || o.Status.AvailableReplicas != n {
			o = o.DeepCopy()
			o.Status = appsv1.DeploymentStatus{ObservedGeneration: o.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
			_, _ = k.api.AppsV1().Deployments(o.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
		}
	case *corev1.Pod:
		if isProbe(o) && o.Status.Phase == corev1.PodPending && !k.silent.Load() {
			k.answer(ctx, o.DeepCopy())
		}
	}
}

func (k *kubelet) answer(ctx context.Context, pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{Name: "probe-mtu",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: `{"mtu":1500,"links":["eth0"]}`}}}}}
	if _, err := k.api.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err == nil {
		k.answers.Add(1)
	}
}

// respond makes probes respond from now on, also existing ones.
func (k *kubelet) respond(b testing.TB) {
	b.Helper()
	k.silent.Store(false)
	pods, err := k.api.CoreV1().Pods(namespace).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range pods.Items {
		k.see(b.Context(), &pods.Items[i])
	}
}
