package network

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// An object that another client modifies repeatedly, as package fight defines, is in back-off: it is restored minBackOff after each change.
// If only labels and annotations change, the back-off doubles each time, up to maxBackOff. Other changes and deletions may admit unsafe
// changes or interrupt the network, so that no client may suppress their repair.
const (
	minBackOff = fight.Calm
	maxBackOff = 30 * time.Minute
)

// unknownClient replaces the name of a client that the managed fields do not show.
const unknownClient = "an unknown client"

// conflicts are the recently repaired objects. They are kept in memory only.
type conflicts map[manifest.Key]*conflict

// conflict is the state of one object.
type conflict struct {
	// hash is the hash of the object that was applied last; another desired object starts without conflict.
	hash string
	// repairs are the times of repairs within fight.Window.
	repairs []time.Time
	// wait is the current back-off, which lasts until until; 0 if the object is not in back-off.
	wait  time.Duration
	until time.Time
	// client is the client that modifies the object. same is true if it uses the operator's own field manager.
	client string
	same   bool
}

// detected reports whether an object is in back-off, or will be after the next repair.
func (c *conflict) detected(now time.Time) bool {
	return c.wait > 0 || len(fight.Recent(c.repairs, now)) >= fight.After-1
}

// backOff removes actions in back-off from a plan, and ends conflicts that are over. It returns the actions that continue a conflict, and
// the time until the next action; 0 means never.
func (all conflicts) backOff(p *plan.Plan, now time.Time) (repaired []plan.Action, requeueAfter time.Duration) {
	changed := map[manifest.Key]bool{}
	p.Actions = slices.Clone(p.Actions)
	for i, a := range p.Actions {
		c := all[a.Key]
		if c == nil || !a.Writes() || c.hash != manifest.Hash(a.Object) {
			continue
		}
		changed[a.Key] = true
		switch {
		case c.wait > 0 && now.Before(c.until):
			p.Actions[i].Verb, p.Actions[i].Reasons = plan.Skip, []string{c.sentence(a.Key)}
		case c.detected(now):
			repaired = append(repaired, a)
		}
	}
	for key, c := range all {
		switch {
		case c.wait == 0:
		case now.Before(c.until):
			requeueAfter = sooner(requeueAfter, c.until.Sub(now))
		case !changed[key]:
			c.wait, c.repairs = 0, nil // no client has modified it since
		}
	}
	return repaired, requeueAfter
}

// sooner returns the smaller of two durations, of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// cosmetic reports whether an action restores only labels and annotations. Namespaces are excluded because their labels admit pods, and
// DaemonSets and admission policies because they are always restored.
func cosmetic(a plan.Action) bool {
	switch {
	case a.Verb != plan.Apply, len(a.Reasons) == 0, a.Key.Group == "admissionregistration.k8s.io":
		return false
	case slices.Contains([]string{"Namespace", "DaemonSet", "NetworkGuard"}, a.Key.Kind):
		return false
	}
	return !slices.ContainsFunc(a.Reasons, func(why string) bool {
		return !strings.HasPrefix(why, "metadata.labels") && !strings.HasPrefix(why, "metadata.annotations")
	})
}

// recordWrite records that an object was written.
func (all conflicts) recordWrite(a plan.Action, now time.Time) {
	c, hash := all[a.Key], manifest.Hash(a.Object)
	if c == nil || c.hash != hash {
		all[a.Key] = &conflict{hash: hash}
		return
	}
	c.repairs = append(fight.Recent(c.repairs, now), now)
	switch {
	case c.wait > 0 && cosmetic(a):
		c.wait = min(2*c.wait, maxBackOff)
	case c.wait > 0:
		c.wait = minBackOff
	case len(c.repairs) >= fight.After:
		c.wait = minBackOff
	default:
		return
	}
	c.until = now.Add(c.wait)
}

// attribute sets the client that last wrote the object according to its managed fields. Their times have a precision of one second; within
// the same second, the other client counts.
func (c *conflict) attribute(fields []metav1.ManagedFieldsEntry) {
	var own, other metav1.ManagedFieldsEntry
	for _, e := range fields {
		last := &other
		if strings.HasPrefix(e.Manager, FieldManager) {
			last = &own
		}
		if e.Subresource == "" && e.Time != nil && (last.Time == nil || !e.Time.Before(last.Time)) {
			*last = e
		}
	}
	switch {
	case other.Time != nil && (own.Time == nil || !other.Time.Before(own.Time)):
		c.client, c.same = other.Manager, false
	case own.Time != nil:
		c.client, c.same = own.Manager, true
	default:
		c.client, c.same = unknownClient, false
	}
}

// sentence describes the conflict and the remedy. It does not change while the conflict lasts.
func (c *conflict) sentence(key manifest.Key) string {
	client, verb, remedy := c.client, "modified", "stop that client"
	switch {
	case c.same:
		client = "another operator with the field manager " + c.client
		remedy = "stop one of the two operators"
	case c.client == unknownClient:
		verb, remedy = "modified or deleted", "find that client in the audit log of the API server and stop it"
	}
	return fmt.Sprintf("%s is being %s by %s; the operator restored it %d times and now retries with back-off. "+
		"To resolve, %s or pause this operator with the annotation %s=true of Network/cluster", key, verb, client, fight.After, remedy, pipeline.PausedAnnotation)
}

// findings reports all conflicts.
func (all conflicts) findings() []status.Finding {
	var sentences []string
	for key, c := range all {
		if c.wait > 0 {
			sentences = append(sentences, c.sentence(key))
		}
	}
	if len(sentences) == 0 {
		return nil
	}
	slices.Sort(sentences)
	return degraded("", fight.Reason, phrase.Clauses(sentences, maxErrors))
}
