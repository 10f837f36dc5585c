package controller

import (
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// runtimeObject is an object of any kind.
type runtimeObject = runtime.Object

// component is the reporter in events.
const component = "openshift-sdn-controller"

// problem is an error in an object, which pure packages find. Their types have the same fields.
type problem struct {
	Object          runtime.Object
	Reason, Message string
}

// identity tells one problem from another.
type identity struct {
	uid             types.UID
	reason, message string
}

// reporter emits an event for each problem when it appears. It may be used by several goroutines.
type reporter struct {
	recorder events.EventRecorder
	log      *slog.Logger

	mu    sync.Mutex
	known map[agent.Topic]map[identity]bool
}

func newReporter(recorder events.EventRecorder, log *slog.Logger) *reporter {
	return &reporter{recorder: recorder, log: log, known: map[agent.Topic]map[identity]bool{}}
}

// report takes all problems of a topic. Those that were not reported before get an event.
func (r *reporter) report(about agent.Topic, all []problem) {
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
			r.recorder.Eventf(p.Object, nil, corev1.EventTypeWarning, p.Reason, "Validate", "%s", p.Message)
			r.log.Warn("problem detected", "about", string(about), "object", fmt.Sprintf("%T/%s", p.Object, object.GetName()), "reason", p.Reason, "message", p.Message)
		}
		now[id] = true
	}
	r.known[about] = now
}

// count is how many problems there are.
func (r *reporter) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, all := range r.known {
		n += len(all)
	}
	return n
}
