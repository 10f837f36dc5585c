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

// Reasons of events about failures of pods and workloads.
const (
	eventRefused   = "FailedCreate"
	eventUnhealthy = "Unhealthy"
)

const (
	// answerTTL is how long the result of a read is cached. Events are read from the API server, and only during failures.
	answerTTL = 20 * time.Second
	// maxEvents is the maximum number of events that are read for an object.
	maxEvents = 20
)

// causeKey identifies the object and reason of events.
type causeKey struct {
	uid    types.UID
	reason string
}

type cause struct {
	text string
	at   time.Time
}

// causes finds the causes of failures in events, and caches them.
type causes struct {
	live  client.Reader
	now   func() time.Time
	known map[causeKey]cause
}

// why returns the message of the newest event about an object with a reason, since a time; empty if there is none.
func (c *causes) why(ctx context.Context, namespace string, uid types.UID, reason string, since time.Time) (string, error) {
	now := c.now()
	q := causeKey{uid, reason}
	if a, ok := c.known[q]; ok && now.Sub(a.at) < answerTTL {
		return a.text, nil
	}
	for q, a := range c.known {
		if now.Sub(a.at) > answerTTL {
			delete(c.known, q)
		}
	}
	var list corev1.EventList
	selector := fields.Set{"involvedObject.uid": string(uid), "reason": reason}.AsSelector()
	if err := c.live.List(ctx, &list, client.InNamespace(namespace), client.MatchingFieldsSelector{Selector: selector}, client.Limit(maxEvents)); err != nil {
		return "", fmt.Errorf("read events: %w", err)
	}
	var newest cause
	for i := range list.Items {
		if at := lastOccurrence(&list.Items[i]); at.After(newest.at) && !at.Before(since) {
			newest = cause{text: list.Items[i].Message, at: at}
		}
	}
	c.known[q] = cause{text: newest.text, at: now}
	return newest.text, nil
}

// lastOccurrence returns the time of the last occurrence of an event. Writers use different fields for it.
func lastOccurrence(e *corev1.Event) time.Time {
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
