package clusterstatus

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The reasons of events that say what a pod or a workload does not.
const (
	eventRefused   = "FailedCreate"
	eventUnhealthy = "Unhealthy"
)

const (
	// fresh is how long an answer is good for: events are read from the API server, and only while something fails.
	fresh = 20 * time.Second
	// mostEvents is how many events of one object are looked at.
	mostEvents = 20
)

// question is about an object and what has happened to it.
type question struct {
	uid    types.UID
	reason string
}

type answer struct {
	text string
	at   time.Time
}

// causes finds in events why something fails, and remembers the answers for a while.
type causes struct {
	live  client.Reader
	now   func() time.Time
	known map[question]answer
}

// why returns what the newest event about an object with a reason says; empty if there is none. Events that are older than
// since are of the past.
func (c *causes) why(ctx context.Context, namespace string, uid types.UID, reason string, since time.Time) (string, error) {
	now := c.now()
	q := question{uid, reason}
	if a, ok := c.known[q]; ok && now.Sub(a.at) < fresh {
		return a.text, nil
	}
	for q, a := range c.known {
		if now.Sub(a.at) > fresh {
			delete(c.known, q)
		}
	}
	var list corev1.EventList
	selector := fields.Set{"involvedObject.uid": string(uid), "reason": reason}.AsSelector()
	if err := c.live.List(ctx, &list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: selector}, client.Limit(mostEvents)); err != nil {
		return "", fmt.Errorf("read events: %w", err)
	}
	var newest answer
	for i := range list.Items {
		if at := happened(&list.Items[i]); at.After(newest.at) && !at.Before(since) {
			newest = answer{text: list.Items[i].Message, at: at}
		}
	}
	c.known[q] = answer{text: newest.text, at: now}
	return newest.text, nil
}

// happened is when an event happened last; writers use different fields.
func happened(e *corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	if e.EventTime.After(last) {
		last = e.EventTime.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}
