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

// reasonFight is the reason of the condition, and of the event, that another client changes the same object repeatedly.
const reasonFight = "FightDetected"

// An object that was restored fightAfter times within fightWindow is fought over. It is then restored firstTruce after each time
// it was changed. Only where nothing but its labels and annotations is changed does that become twice as long each time, up to
// lastTruce: an object that is missing, or that does something else than what is wanted, may let unsafe changes in or take
// the network from nodes, and one client must not be able to switch off its repair.
const (
	fightAfter  = 5
	fightWindow = time.Minute
	firstTruce  = 30 * time.Second
	lastTruce   = 30 * time.Minute
)

// unknownClient stands for the client that changes an object when its managed fields do not name it.
const unknownClient = "an unknown client"

// fights remembers which objects were repaired, and when. Nothing of it outlives the process: the next one repairs
// what it finds, and notices soon enough.
type fights map[manifest.Key]*fight

// fight is what is known of one object.
type fight struct {
	// hash is that of what was applied last; what is wanted again is no fight.
	hash string
	// repairs are the times within fightWindow at which it was repaired.
	repairs []time.Time
	// truce is how long it is not changed, until the time until; 0 if it is not fought over.
	truce time.Duration
	until time.Time
	// who changes it, and uses the name under which the operator itself writes if same is true.
	who  string
	same bool
}

// begun reports whether an object is fought over, or is as soon as it is repaired once more.
func (f *fight) begun(now time.Time) bool { return f.truce > 0 || len(f.recent(now)) >= fightAfter-1 }

func (f *fight) recent(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(f.repairs), func(at time.Time) bool { return now.Sub(at) > fightWindow })
}

// rest takes out of a plan what is not to be restored yet, and forgets the fights that are over. It returns the actions that
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
func (fs fights) wrote(a plan.Action, now time.Time) {
	f, hash := fs[a.Key], manifest.Hash(a.Object)
	if f == nil || f.hash != hash {
		fs[a.Key] = &fight{hash: hash}
		return
	}
	f.repairs = append(f.recent(now), now)
	switch {
	case f.truce > 0 && cosmetic(a):
		f.truce = min(2*f.truce, lastTruce)
	case f.truce > 0:
		f.truce = firstTruce
	case len(f.repairs) >= fightAfter:
		f.truce = firstTruce
	default:
		return
	}
	f.until = now.Add(f.truce)
}

// blame notes who has changed an object, as its managed fields show: the client that wrote it last. Their times are in seconds; of
// two writes within one, that of the other client counts.
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
		f.who, f.same = unknownClient, false
	}
}

// sentence says who changes an object, what became of it and what to do. It is the same as long as nothing changes.
func (f *fight) sentence(key manifest.Key) string {
	who, verb, out := f.who, "modified", "stop that client"
	switch {
	case f.same:
		who = "another operator with the field manager " + f.who
		out = "stop one of the two operators"
	case f.who == unknownClient:
		verb, out = "modified or deleted", "find that client in the audit log of the API server and stop it"
	}
	return fmt.Sprintf("%s is being %s by %s; the operator restored it %d times and now retries with back-off. "+
		"To resolve, %s or pause this operator with the annotation %s=true of Network/cluster", key, verb, who, fightAfter, out, pipeline.PausedAnnotation)
}

// findings report every fight.
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
