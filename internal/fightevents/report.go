// Package fightevents reports fights of agents as events about nodes: a third party reverts a setting each time the agent restores it. The
// operator reads these events. Agents renew an event while the fight lasts; an event that is not renewed expires.
package fightevents

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/fight"
)

const (
	// Namespace is the namespace of events about nodes.
	Namespace = metav1.NamespaceDefault
	// lookEvery is the interval of checks for fights, renewEvery that of renewals of an event, requestLimit the time limit of a request.
	lookEvery    = 5 * time.Second
	renewEvery   = time.Minute
	requestLimit = 10 * time.Second
	// mostInstance is the maximum length of an event's reportingInstance in bytes.
	mostInstance = 128
)

// Reporter reports the fights of a node. Use New to create it.
type Reporter struct {
	client    kubernetes.Interface
	node      string
	component string
	log       *slog.Logger
	// events are those of current fights, by thing.
	events map[string]reported
}

// reported is an event about a fight: its name, and the time and number of the last write.
type reported struct {
	name   string
	at     time.Time
	number int
}

// New returns a reporter of a component on a node.
func New(client kubernetes.Interface, node, component string, log *slog.Logger) *Reporter {
	return &Reporter{client: client, node: node, component: component, log: log, events: map[string]reported{}}
}

// Run reports fights until the context is done.
func (r *Reporter) Run(ctx context.Context, fights func() []agent.Fight) {
	for ctx.Err() == nil {
		r.report(ctx, fights(), time.Now())
		agent.Pause(ctx, lookEvery, nil)
	}
}

// report creates and renews events, and drops those of fights that have ended.
func (r *Reporter) report(ctx context.Context, fights []agent.Fight, now time.Time) {
	next := map[string]reported{}
	for _, f := range fights {
		e, exists := r.events[f.Thing]
		if exists && e.number == f.Number && now.Sub(e.at) < renewEvery {
			next[f.Thing] = e
			continue
		}
		written, err := r.write(ctx, f, e.name, now)
		if err != nil {
			r.log.Warn("a fight is not reported by an event yet", "about", f.Thing, "error", err)
			if exists {
				next[f.Thing] = e
			}
			continue
		}
		next[f.Thing] = written
	}
	r.events = next
}

// write renews the event with the name. It creates the event if the name is empty or the event does not exist any more.
func (r *Reporter) write(ctx context.Context, f agent.Fight, name string, now time.Time) (reported, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	series := &eventsv1.EventSeries{Count: int32(f.Number), LastObservedTime: metav1.NewMicroTime(now)}
	written := reported{name: name, at: now, number: f.Number}
	if name != "" {
		patch, err := json.Marshal(map[string]any{"series": series})
		if err != nil {
			return reported{}, err
		}
		_, err = r.client.EventsV1().Events(Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			return written, err
		}
	}
	note := fmt.Sprintf("%s: a third party changes this on the node whenever %s has restored it; stop the program that does so", f.Thing, r.component)
	written.name = fmt.Sprintf("%s.%x%s", r.node, now.UnixNano(), eventaction.Of("", f.Thing))
	_, err := r.client.EventsV1().Events(Namespace).Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: written.name}, EventTime: metav1.NewMicroTime(now), Series: series,
		ReportingController: r.component, ReportingInstance: instance(r.node), Action: eventaction.Of("Restore", note), Reason: fight.Reason,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: r.node, UID: types.UID(r.node)}, Note: note, Type: corev1.EventTypeWarning,
	}, metav1.CreateOptions{})
	return written, err
}

// instance returns the name of a node, truncated to the maximum length.
func instance(node string) string { return node[:min(len(node), mostInstance)] }
