package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/idling"
	"github.com/cluster-network-operator/cno/internal/leader"
)

const (
	// reasonUnidle: a Service cannot be unidled.
	reasonUnidle = "UnidleFailed"
	// unidleWorkers is the number of Services that are unidled at the same time.
	unidleWorkers = 4
	// readyInterval is how often an unidled Service is checked for a ready endpoint, and readyTimeout for how long.
	readyInterval = 500 * time.Millisecond
	readyTimeout  = 5 * time.Minute
)

// watched restricts the watch of Events to those that request the unidling of a Service.
func watched() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&corev1.Event{}: {Field: fields.OneTermEqualSelector("reason", idling.NeedPods)}}
}

// unidler scales up idled workloads when an Event requests it. It keeps the annotations until the Service has a ready endpoint: until then nodes hold back
// connections, and none is refused.
type unidler struct {
	*term
	queue workqueue.TypedRateLimitingInterface[client.ObjectKey]

	mu        sync.Mutex
	requested map[client.ObjectKey]time.Time // time of the last request for a Service
	scaled    map[client.ObjectKey]time.Time // time of scaling up
}

func newUnidler(t *term) *unidler {
	return &unidler{term: t, requested: map[client.ObjectKey]time.Time{}, scaled: map[client.ObjectKey]time.Time{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[client.ObjectKey](100*time.Millisecond, 10*time.Second))}
}

// run works until the context ends.
func (u *unidler) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, u.queue.ShutDown)
	defer stop()
	informer, err := u.cache.GetInformer(ctx, &corev1.Event{})
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: u.note, UpdateFunc: func(_, o any) { u.note(o) }})
	}
	if err != nil {
		u.board.Note(unidleLoop, fmt.Errorf("watch events: %w", err)) // only if the context has ended
		return
	}
	var all sync.WaitGroup
	for range unidleWorkers {
		all.Go(func() {
			for {
				key, shutdown := u.queue.Get()
				if shutdown {
					return
				}
				u.handle(ctx, key)
				u.queue.Done(key)
			}
		})
	}
	all.Wait()
}

// note receives an Event.
func (u *unidler) note(o any) {
	e, ok := o.(*corev1.Event)
	if !ok || e.Reason != idling.NeedPods || e.InvolvedObject.Kind != "Service" {
		return
	}
	key := client.ObjectKey{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
	at := e.LastTimestamp.Time
	if at.IsZero() {
		at = e.EventTime.Time
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if at.After(u.requested[key]) {
		u.requested[key] = at
		u.queue.Add(key)
	}
}

// handle unidles a Service, and retries on errors.
func (u *unidler) handle(ctx context.Context, key client.ObjectKey) {
	u.mu.Lock()
	requested := u.requested[key]
	u.mu.Unlock()
	retry, err := u.unidle(ctx, key, requested)
	if ctx.Err() != nil {
		return
	}
	u.board.Note(unidleLoop, err)
	switch {
	case err != nil:
		u.queue.AddRateLimited(key)
		return
	case retry:
		u.queue.AddAfter(key, readyInterval)
	default:
		u.mu.Lock()
		delete(u.scaled, key)
		u.mu.Unlock()
	}
	u.queue.Forget(key)
}

// unidle scales up the targets of a Service that was idled before the request. retry is true while it has no endpoint.
func (u *unidler) unidle(ctx context.Context, key client.ObjectKey, requested time.Time) (again bool, err error) {
	service, endpoints := &corev1.Service{}, &corev1.Endpoints{} //nolint:staticcheck // idled Services are marked on both
	if err := u.client.Get(ctx, key, service); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	marked := []client.Object{service}
	switch err := u.client.Get(ctx, key, endpoints); {
	case err == nil:
		marked = []client.Object{endpoints, service}
	case client.IgnoreNotFound(err) != nil:
		return false, fmt.Errorf("read endpoints %s: %w", key, err)
	}
	state, idled, err := idling.Decode(marked[0].GetAnnotations())
	if !idled {
		state, idled, err = idling.Decode(service.GetAnnotations())
	}
	if err != nil {
		u.failed(service, err)
		return false, nil
	}
	// Both times have a resolution of one second.
	if !idled || requested.Before(state.At.Truncate(time.Second)) {
		return false, nil
	}
	for _, target := range state.Targets {
		if err := u.scale(ctx, service, target); err != nil {
			return false, err
		}
	}
	if !ready(endpoints) && len(state.Targets) > 0 {
		return u.wait(key), nil
	}
	for _, o := range marked {
		if err := u.unmark(ctx, o); err != nil {
			return false, err
		}
	}
	u.Log.Info("a Service was woken", "service", key.String())
	return false, nil
}

// wait reports whether a Service may still get an endpoint within readyTimeout.
func (u *unidler) wait(key client.ObjectKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.scaled[key].IsZero() {
		u.scaled[key] = u.Now()
	}
	return u.Now().Sub(u.scaled[key]) < readyTimeout
}

func (u *unidler) failed(service *corev1.Service, err error) {
	u.report(unidleLoop+agent.Topic("/"+service.Namespace+"/"+service.Name), []problem{{Object: service, Reason: reasonUnidle, Message: "the Service cannot be woken: " + err.Error()}})
}

// scale scales up a target that has no replicas.
func (u *unidler) scale(ctx context.Context, service *corev1.Service, target idling.Target) error {
	object, current := idling.Object(target, service.Namespace), &autoscalingv1.Scale{}
	scale := u.client.SubResource("scale")
	if err := scale.Get(ctx, object, current); err != nil {
		if client.IgnoreNotFound(err) == nil {
			u.failed(service, fmt.Errorf("%s %s does not exist", target.Kind, target.Name))
			return nil
		}
		return fmt.Errorf("read the scale of %s %s/%s: %w", target.Kind, service.Namespace, target.Name, err)
	}
	if current.Spec.Replicas > 0 || target.Replicas == 0 {
		return nil
	}
	current.Spec.Replicas = target.Replicas
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.WriteLimit)
	defer cancel()
	if err := scale.Update(limited, object, client.WithSubResourceBody(current)); err != nil {
		return fmt.Errorf("scale %s %s/%s: %w", target.Kind, service.Namespace, target.Name, err)
	}
	u.writer.wrote()
	return nil
}

// ready reports whether a Service has an endpoint that is ready.
func ready(e *corev1.Endpoints) bool { //nolint:staticcheck // the object that marks the Service
	return slices.ContainsFunc(e.Subsets, func(s corev1.EndpointSubset) bool { return len(s.Addresses) > 0 }) //nolint:staticcheck // likewise
}

// unmark removes the annotations, unless the object has changed since it was read.
func (u *unidler) unmark(ctx context.Context, o client.Object) error {
	if _, idled := o.GetAnnotations()[idling.IdledAt]; !idled {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.GetResourceVersion(), "annotations": map[string]any{idling.IdledAt: nil, idling.Targets: nil},
	}})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return fmt.Errorf("encode annotations: %w", err)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.WriteLimit)
	defer cancel()
	if err := u.client.Patch(limited, o, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("remove the annotations of %T %s/%s: %w", o, o.GetNamespace(), o.GetName(), err)
	}
	u.writer.wrote()
	return nil
}
