package controller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/leader"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
)

const (
	// lostGrace is how long a pod keeps an address that its node does not have: a HostSubnet that was deleted by mistake may be created again with its block.
	lostGrace = 10 * time.Second
	// evictionInterval is the time between two evictions, so that the pods of a node do not start all at once elsewhere.
	evictionInterval = time.Second
	// budgetInterval is how often the eviction of a pod is tried that a PodDisruptionBudget protects.
	budgetInterval = 10 * time.Second
)

// attachedPod is a pod that the agent of a node has reported.
type attachedPod struct {
	client.ObjectKey
	uid types.UID
}

// evictor evicts pods whose address is not in the block of their node any more, so that their controllers create others. The agent of the node reports them by
// an Event; the decision follows from the pod and the HostSubnets alone.
type evictor struct {
	*term
	queue workqueue.TypedRateLimitingInterface[attachedPod]
}

func newEvictor(t *term) *evictor {
	return &evictor{term: t, queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[attachedPod](time.Second, time.Minute))}
}

// run works until the context ends.
func (e *evictor) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, e.queue.ShutDown)
	defer stop()
	// The cache of the term has the Events with another reason.
	_, events := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
		ListerWatcher: toolscache.NewListWatchFromClient(e.core.CoreV1().RESTClient(), "events", "", fields.OneTermEqualSelector("reason", agentconfig.ReasonPodAddressLost)),
		ObjectType:    &corev1.Event{},
		Handler:       toolscache.ResourceEventHandlerFuncs{AddFunc: e.note, UpdateFunc: func(_, o any) { e.note(o) }},
	})
	watching := make(chan struct{})
	go func() { defer close(watching); events.RunWithContext(ctx) }()
	defer func() { <-watching }()
	for {
		p, shutdown := e.queue.Get()
		if shutdown {
			return
		}
		e.handle(ctx, p)
		e.queue.Done(p)
	}
}

// note receives an Event.
func (e *evictor) note(o any) {
	event, ok := o.(*corev1.Event)
	if ok && event.InvolvedObject.Kind == "Pod" {
		e.queue.AddAfter(attachedPod{client.ObjectKey{Namespace: event.InvolvedObject.Namespace, Name: event.InvolvedObject.Name}, event.InvolvedObject.UID}, lostGrace)
	}
}

// handle evicts a pod if it must start again, and retries on errors.
func (e *evictor) handle(ctx context.Context, p attachedPod) {
	err := e.evict(ctx, p)
	switch {
	case ctx.Err() != nil:
		return
	case apierrors.IsTooManyRequests(err):
		e.Log.Info("a PodDisruptionBudget protects a pod without a network", "pod", p.String(), "error", err)
		e.queue.AddAfter(p, budgetInterval)
		err = nil
	case err != nil:
		e.queue.AddRateLimited(p)
	default:
		e.queue.Forget(p)
	}
	e.board.Note(lostLoop, err)
}

func (e *evictor) evict(ctx context.Context, p attachedPod) error {
	pod := &corev1.Pod{}
	if err := e.client.Get(ctx, p.ObjectKey, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	address, lost := lostAddress(pod, e.subnets.list(), e.Network)
	if pod.UID != p.uid || !lost || !replaced(pod) {
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.WriteLimit)
	defer cancel()
	err := e.client.SubResource("eviction").Create(limited, pod, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.uid))}})
	if err = superseded(err); err != nil {
		return fmt.Errorf("evict pod %s, whose node no longer has its address %s: %w", p, address, err)
	}
	e.Log.Info("evicted a pod whose node no longer has its address", "pod", p.String(), "node", pod.Spec.NodeName, "address", address)
	e.writer.wrote()
	agent.Pause(ctx, evictionInterval, nil)
	return nil
}

// lostAddress returns the address of a running pod that lies in the cluster network and not in the block of its node. Without a usable block of the node, no
// address is lost.
func lostAddress(pod *corev1.Pod, subnets []*sdnv1.HostSubnet, network agentconfig.Config) (netip.Addr, bool) {
	if pod.Spec.HostNetwork || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return netip.Addr{}, false
	}
	usable, _ := hostsubnet.Usable(subnets, network.Reserved())
	own := slices.IndexFunc(usable, func(e hostsubnet.Endpoint) bool { return e.Subnet.Name == pod.Spec.NodeName })
	if own < 0 {
		return netip.Addr{}, false
	}
	for _, ip := range pod.Status.PodIPs {
		a, err := netip.ParseAddr(ip.IP)
		if err == nil && !usable[own].Block.Contains(a) && slices.ContainsFunc(network.Pools(), func(p netip.Prefix) bool { return p.Contains(a) }) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// replaced reports whether a controller creates another pod in place of one. The owner of a static pod is its node, whose kubelet runs it also if the API
// server has no pod.
func replaced(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind != "Node"
}
