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

// reasonFight is the reason of the condition, and of the event, that somebody else changes the same object over and over.
const reasonFight = "FightDetected"

// An object that was put right fightAfter times within fightWindow is fought over. It is then left alone, at first for
// firstTruce and, as long as it is changed again each time, for twice as long up to lastTruce.
const (
	fightAfter  = 5
	fightWindow = time.Minute
	firstTruce  = 30 * time.Second
	lastTruce   = 30 * time.Minute
)

// somebody is who changes an object when nothing says who.
const somebody = "somebody"

// fights remembers which objects were put right, and when. Nothing of it outlives the process: the next one puts right
// what it finds, and notices soon enough.
type fights map[manifest.Key]*fight

// fight is what is known of one object.
type fight struct {
	// hash is that of what was applied last; what is wanted anew is no fight.
	hash string
	// repairs are the times within fightWindow at which it was put right.
	repairs []time.Time
	// truce is how long it is left alone, until the time until; 0 if it is not fought over.
	truce time.Duration
	until time.Time
	// who changes it, and uses the name under which the operator itself writes if same is true.
	who  string
	same bool
}

// begun reports whether an object is fought over, or is as soon as it is put right once more.
func (f *fight) begun(now time.Time) bool { return f.truce > 0 || len(f.recent(now)) >= fightAfter-1 }

func (f *fight) recent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(f.repairs), func(at time.Time) bool { return now.Sub(at) > fightWindow })
}

// rest takes out of a plan what is to be left alone now, and forgets the fights that are over. It returns the actions that
// go on with a fight, and after how long to look again; 0 is never.
func (fs fights) rest(p *plan.Plan, now time.Time) (goOn []plan.Action, again time.Duration) {
	changed := map[manifest.Key]bool{}
	p.Actions = slices.Clone(p.Actions)
	for i, a := range p.Actions {
		f := fs[a.Key]
		if f == nil || !a.Writes() || f.hash != manifest.Hash(a.Object) {
			continue
		}
		changed[a.Key] = true
		switch {
		case f.truce > 0 && now.Before(f.until):
			p.Actions[i].Verb, p.Actions[i].Reasons = plan.Skip, []string{f.sentence(a.Key)}
		case f.begun(now):
			goOn = append(goOn, a)
		}
	}
	for key, f := range fs {
		switch {
		case f.truce == 0:
		case now.Before(f.until):
			again = sooner(again, f.until.Sub(now))
		case !changed[key]:
			f.truce, f.repairs = 0, nil // it was left as it is wanted
		}
	}
	return goOn, again
}

// sooner returns the smaller of two times of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// wrote notes that an object was written.
func (fs fights) wrote(a plan.Action, now time.Time) {
	f, hash := fs[a.Key], manifest.Hash(a.Object)
	if f == nil || f.hash != hash {
		fs[a.Key] = &fight{hash: hash}
		return
	}
	f.repairs = append(f.recent(now), now)
	switch {
	case f.truce > 0:
		f.truce = min(2*f.truce, lastTruce)
	case len(f.repairs) >= fightAfter:
		f.truce = firstTruce
	default:
		return
	}
	f.until = now.Add(f.truce)
}

// blame notes who has changed an object, as its managed fields tell: whoever wrote it last. Their times are in seconds; of
// two writes within one, that of somebody else is meant.
func (f *fight) blame(fields []metav1.ManagedFieldsEntry) {
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
		f.who, f.same = other.Manager, false
	case own.Time != nil:
		f.who, f.same = own.Manager, true
	default:
		f.who, f.same = somebody, false
	}
}

// sentence says who changes an object, what became of it and what to do. It is the same as long as nothing changes.
func (f *fight) sentence(key manifest.Key) string {
	who, out := f.who, "have "+f.who+" leave it alone"
	switch {
	case f.same:
		who = fmt.Sprintf("another operator that calls itself %s, too,", f.who)
		out = "stop one of the two operators"
	case f.who == somebody:
		out = "find out who in the audit log of the API server"
	}
	return fmt.Sprintf("%s keeps changing or deleting %s, which was put right each time; it is left alone now, and put right ever more seldom. "+
		"To end this, %s, or have this operator stand by with the annotation %s=true of Network/cluster", who, key, out, pipeline.PausedAnnotation)
}

// findings tell of every fight.
func (fs fights) findings() []status.Finding {
	var sentences []string
	for key, f := range fs {
		if f.truce > 0 {
			sentences = append(sentences, f.sentence(key))
		}
	}
	if len(sentences) == 0 {
		return nil
	}
	slices.Sort(sentences)
	if more := len(sentences) - mostErrors; more > 0 {
		sentences = append(sentences[:mostErrors], fmt.Sprintf("(%d more)", more))
	}
	return degraded("", reasonFight, strings.Join(sentences, "; "))
}
