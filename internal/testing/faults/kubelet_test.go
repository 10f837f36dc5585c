package faults_test

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/loop"
)

// kubelet replaces the controllers and kubelets of a real cluster, until the test ends: MTU probes succeed, workloads become available, and deleted
// namespaces, which the operator has emptied before, disappear. It watches, since polling would take more of the machine than what is tested.
func (c *cluster) kubelet() {
	c.Helper()
	yes := true
	mgr, err := manager.New(c.Config, manager.Options{
		Scheme: c.Client.Scheme(), Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes},
	})
	if err != nil {
		c.Fatal(err)
	}
	react(c, mgr, &corev1.Pod{}, answer)
	react(c, mgr, &appsv1.DaemonSet{}, func(ctx context.Context, api client.Client, d *appsv1.DaemonSet) error {
		if d.Status.ObservedGeneration == d.Generation {
			return nil
		}
		d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1,
			UpdatedNumberScheduled: 1, NumberAvailable: 1, NumberReady: 1}
		return api.Status().Update(ctx, d)
	})
	react(c, mgr, &appsv1.Deployment{}, func(ctx context.Context, api client.Client, d *appsv1.Deployment) error {
		if d.Status.ObservedGeneration == d.Generation {
			return nil
		}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		return api.Status().Update(ctx, d)
	})
	react(c, mgr, &corev1.Namespace{}, func(ctx context.Context, api client.Client, ns *corev1.Namespace) error {
		if ns.DeletionTimestamp == nil {
			return nil
		}
		ns.Spec.Finalizers = nil
		return api.SubResource("finalize").Update(ctx, ns)
	})
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	c.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			c.Errorf("kubelet: %v", err)
		}
	})
}

// react has a function see each object of a kind that was created or changed, again with back-off while it fails. It may change what it gets.
func react[T client.Object](c *cluster, mgr manager.Manager, kind T, do func(ctx context.Context, api client.Client, o T) error) {
	c.Helper()
	see := func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		o, _ := kind.DeepCopyObject().(T)
		if err := mgr.GetClient().Get(ctx, r.NamespacedName, o); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return reconcile.Result{}, client.IgnoreNotFound(do(ctx, mgr.GetClient(), o))
	}
	if err := loop.Add(mgr, name(kind, mgr.GetScheme()), see, loop.Options{}, loop.On(mgr, kind, &handler.EnqueueRequestForObject{})); err != nil {
		c.Fatal(err)
	}
}

// name is the kind of an object in lower case.
func name(o runtime.Object, scheme *runtime.Scheme) string {
	kinds, _, err := scheme.ObjectKinds(o)
	if err != nil {
		return err.Error()
	}
	return strings.ToLower(kinds[0].Kind)
}

// answer has a probe of the MTU end as it does on a node.
func answer(ctx context.Context, api client.Client, p *corev1.Pod) error {
	if !strings.HasPrefix(p.Name, "mtu-prober-") || p.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "probe-mtu", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: `{"mtu":1450,"links":["eth0"]}`}}}}}
	return api.Status().Update(ctx, p)
}
