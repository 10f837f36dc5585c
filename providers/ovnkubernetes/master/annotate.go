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
	// writers is how many annotations are written at a time.
	writers = 16
)

// annotation is what an object is to have. The UID is a condition: an object of the same name that came later gets its own.
type annotation struct {
	uid   types.UID
	value string
}

// annotator writes annotations, and repeats what fails.
type annotator struct {
	client kubernetes.Interface
	log    *slog.Logger
	queue  workqueue.TypedRateLimitingInterface[key]
	failed func(error)

	mu   sync.Mutex
	want map[key]annotation
}

func newAnnotator(client kubernetes.Interface, log *slog.Logger, failed func(error)) *annotator {
	return &annotator{client: client, log: log, failed: failed, want: map[key]annotation{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[key]())}
}

// set has an annotation written; only the last value of an object is.
func (a *annotator) set(k key, want annotation) {
	a.mu.Lock()
	a.want[k] = want
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
	want, wanted := a.want[k]
	a.mu.Unlock()
	if !wanted || ctx.Err() != nil {
		a.queue.Forget(k)
		return
	}
	// A request that is canceled may be carried out all the same, and later: the instance that works next could have given the address to
	// another pod by then. So it is waited for, and the lease is kept until then.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.WriteLimit)
	defer cancel()
	err := a.patch(limited, k, want)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone, or another one: its own event follows
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
	if a.want[k] == want {
		delete(a.want, k)
	}
	a.mu.Unlock()
}

func (a *annotator) patch(ctx context.Context, k key, want annotation) error {
	name := podAnnotation
	if k.kind == nodeKind {
		name = nodeAnnotation
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": want.uid, "annotations": map[string]string{name: want.value}}})
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
