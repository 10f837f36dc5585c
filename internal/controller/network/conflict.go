package network

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// reasonConflict is the reason of the condition, and of the event, that another client changes the same object repeatedly.
const reasonConflict = "FightDetected"

// An object that was restored conflictAfter times within conflictWindow is in back-off. It is then restored firstWait after each time
// it was changed. Only where nothing but its labels and annotations is changed does that become twice as long each time, up to
// lastWait: an object that is missing, or that does something else than what is wanted, may let unsafe changes in or take
// the network from nodes, and one client must not be able to switch off its repair.
const (
	conflictAfter  = 5
	conflictWindow = time.Minute
	firstWait      = 30 * time.Second
	lastWait       = 30 * time.Minute
)

// unknownClient stands for the client that changes an object when its managed fields do not name it.
const unknownClient = "an unknown client"

// conflicts remembers which objects were repaired, and when. Nothing of it outlives the process: the next one repairs
// what it finds, and notices soon enough.
type conflicts map[manifest.Key]*conflict

// conflict is what is known of one object.
type conflict struct {
	// hash is that of what was applied last; what is wanted again is no conflict.
	hash string
	// repairs are the times within conflictWindow at which it was repaired.
	repairs []time.Time
	// wait is how long it is not changed, until the time until; 0 if it is not in back-off.
	wait  time.Duration
	until time.Time
	// who changes it, and uses the name under which the operator itself writes if same is true.
	who  string
	same bool
}

// detected reports whether an object is in back-off, or is as soon as it is repaired once more.
func (c *conflict) detected(now time.Time) bool {
	return c.wait > 0 || len(c.recent(now)) >= conflictAfter-1
}

func (c *conflict) recent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(c.repairs), func(at time.Time) bool { return now.Sub(at) > conflictWindow })
}

// backOff takes out of a plan what is not to be restored yet, and forgets the conflicts that are over. It returns the actions
// that continue a conflict, and after how long to look again; 0 is never.
func (all conflicts) backOff(p *plan.Plan, now time.Time) (repaired []plan.Action, again time.Duration) {
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
			again = sooner(again, c.until.Sub(now))
		case !changed[key]:
			c.wait, c.repairs = 0, nil // it was left as it is wanted
		}
	}
	return repaired, again
}

// sooner returns the smaller of two times of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// cosmetic reports whether an action restores nothing but labels and annotations. Those of a namespace do work: they admit
// pods. DaemonSets, admission policies and what belongs to them are never left as they are.
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

// wrote notes that an object was written.
func (all conflicts) wrote(a plan.Action, now time.Time) {
	c, hash := all[a.Key], manifest.Hash(a.Object)
	if c == nil || c.hash != hash {
		all[a.Key] = &conflict{hash: hash}
		return
	}
	c.repairs = append(c.recent(now), now)
	switch {
	case c.wait > 0 && cosmetic(a):
		c.wait = min(2*c.wait, lastWait)
	case c.wait > 0:
		c.wait = firstWait
	case len(c.repairs) >= conflictAfter:
		c.wait = firstWait
	default:
		return
	}
	c.until = now.Add(c.wait)
}

// attribute notes who has changed an object, as its managed fields show: the client that wrote it last. Their times are in seconds; of
// two writes within one, that of the other client counts.
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
		c.who, c.same = other.Manager, false
	case own.Time != nil:
		c.who, c.same = own.Manager, true
	default:
		c.who, c.same = unknownClient, false
	}
}

// sentence says who changes an object, what became of it and what to do. It is the same as long as nothing changes.
func (c *conflict) sentence(key manifest.Key) string {
	who, verb, out := c.who, "modified", "stop that client"
	switch {
	case c.same:
		who = "another operator with the field manager " + c.who
		out = "stop one of the two operators"
	case c.who == unknownClient:
		verb, out = "modified or deleted", "find that client in the audit log of the API server and stop it"
	}
	return fmt.Sprintf("%s is being %s by %s; the operator restored it %d times and now retries with back-off. "+
		"To resolve, %s or pause this operator with the annotation %s=true of Network/cluster", key, verb, who, conflictAfter, out, pipeline.PausedAnnotation)
}

// findings report every conflict.
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
	if more := len(sentences) - mostErrors; more > 0 {
		sentences = append(sentences[:mostErrors], fmt.Sprintf("(%d more)", more))
	}
	return degraded("", reasonConflict, strings.Join(sentences, "; "))
}
