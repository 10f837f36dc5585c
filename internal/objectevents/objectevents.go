// Package objectevents reports errors in objects by events on them: each error once, while it lasts.
package objectevents

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// Problem is an error in an object.
type Problem struct {
	Object runtime.Object
	// Reason is a CamelCase identifier, Message a sentence.
	Reason, Message string
}

// identity distinguishes problems.
type identity struct {
	uid             types.UID
	reason, message string
}

// Reporter emits an event for each problem when it appears. It may be used by several goroutines. Make it with New.
type Reporter struct {
	recorder events.EventRecorder
	log      *slog.Logger

	mu    sync.Mutex
	known map[agent.Topic]map[identity]bool
}

// New returns a reporter of a component that sends events until the context ends. The scheme knows the kinds of all objects.
func New(ctx context.Context, client kubernetes.Interface, scheme *runtime.Scheme, component string, log *slog.Logger) (*Reporter, error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("send events: %w", err)
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return &Reporter{recorder: broadcaster.NewRecorder(scheme, component), log: log, known: map[agent.Topic]map[identity]bool{}}, nil
}

// Report takes all problems of a topic. Those that were not reported before get an event.
func (r *Reporter) Report(about agent.Topic, all []Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := make(map[identity]bool, len(all))
	for _, p := range all {
		object, err := meta.Accessor(p.Object)
		if err != nil {
			continue
		}
		id := identity{object.GetUID(), p.Reason, p.Message}
		if !now[id] && !r.known[about][id] {
			r.recorder.Eventf(p.Object, nil, corev1.EventTypeWarning, p.Reason, eventaction.Of("Validate", p.Message), "%s", phrase.Note(p.Message))
			r.log.Warn("problem detected", "about", string(about), "object", fmt.Sprintf("%T/%s", p.Object, object.GetName()), "reason", p.Reason, "message", p.Message)
		}
		now[id] = true
	}
	r.known[about] = now
}

// Count is how many problems there are.
func (r *Reporter) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, all := range r.known {
		n += len(all)
	}
	return n
}
