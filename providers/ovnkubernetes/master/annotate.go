package master

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"

	"github.com/cluster-network-operator/cno/internal/leader"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

const (
	nodeAnnotation = topology.NodeSubnets
	podAnnotation  = topology.PodNetworks
	// writers is the number of concurrent writes.
	writers = 16
)

// annotation is the desired annotation of an object. The UID is a precondition: a newer object of the same name gets its own.
type annotation struct {
	uid   types.UID
	value string
}

// annotator writes annotations, and retries on errors.
type annotator struct {
	client kubernetes.Interface
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[key]
	failed func(error)

	mu      sync.Mutex
	desired map[key]annotation
}

func newAnnotator(client kubernetes.Interface, log *slog.Logger, failed func(error)) *annotator {
	return &annotator{client: client, log: log, failed: failed, desired: map[key]annotation{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())}
}

// set sets the desired annotation of an object; only the last one is written.
func (a *annotator) set(k key, desired annotation) {
	a.mu.Lock()
	a.desired[k] = desired
	a.mu.Unlock()
	a.queue.Add(k)
}

// run writes until the context ends.
func (a *annotator) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, a.queue.ShutDown)
	defer stop()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for {
				k, shutdown := a.queue.Get()
				if shutdown {
					return
				}
				a.write(ctx, k)
				a.queue.Done(k)
			}
		})
	}
	all.Wait()
}

func (a *annotator) write(ctx context.Context, k key) {
	a.mu.Lock()
	desired, ok := a.desired[k]
	a.mu.Unlock()
	if !ok || ctx.Err() != nil {
		a.queue.Forget(k)
		return
	}
	// A canceled request may still take effect later, when the next leader may have assigned the address to another pod. So the request is completed, and the
	// Lease is held until then.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.WriteLimit)
	defer cancel()
	err := a.patch(limited, k, desired)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it was deleted or replaced; the new object has its own event
	case err != nil:
		if ctx.Err() == nil {
			a.failed(fmt.Errorf("annotate %s %s: %w", k.kind, k.name, err))
			a.queue.AddRateLimited(k)
		}
		return
	}
	a.failed(nil)
	a.queue.Forget(k)
	a.mu.Lock()
	if a.desired[k] == desired {
		delete(a.desired, k)
	}
	a.mu.Unlock()
}

func (a *annotator) patch(ctx context.Context, k key, desired annotation) error {
	name := podAnnotation
	if k.kind == nodeKind {
		name = nodeAnnotation
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": desired.uid, "annotations": map[string]string{name: desired.value}}})
	if err != nil {
		return fmt.Errorf("encode the annotation: %w", err)
	}
	if k.kind == nodeKind {
		_, err = a.client.CoreV1().Nodes().Patch(ctx, k.name, types.MergePatchType, data, metav1.PatchOptions{})
	} else {
		_, err = a.client.CoreV1().Pods(k.namespace).Patch(ctx, k.name, types.MergePatchType, data, metav1.PatchOptions{})
	}
	return err
}
