package status

import (
	"fmt"
	"time"
)

const (
	// hungAfter is how long a rollout may stand still before it counts as hung. It is what OpenShift's
	// operator waits.
	hungAfter = 10 * time.Minute
	// downAfter is how long a workload may have no available pod before the network counts as not available:
	// longer than a restart of the only pod, shorter than a person's patience.
	downAfter = 30 * time.Second
)

// String names a workload in sentences, as in: DaemonSet "openshift-flannel/flanneld".
func (w Workload) String() string {
	return fmt.Sprintf("%s %q", w.Kind, w.Namespace+"/"+w.Name)
}

// moving returns what a workload still has to do, or "" if it is as wanted.
func (l Live) moving() string {
	awaited := l.awaited()
	switch {
	case l.Generation > l.Observed:
		return fmt.Sprintf("%s update is being processed (generation %d, observed generation %d)", l.Workload, l.Generation, l.Observed)
	case l.Desired > 0 && l.Available == 0 && len(l.Pods) == 0:
		return fmt.Sprintf("%s is not yet scheduled on any nodes", l.Workload)
	case l.Updated < l.Desired-l.gone():
		return fmt.Sprintf("%s update is rolling out (%d out of %d updated)", l.Workload, l.Updated, l.Desired)
	case awaited > 0:
		return fmt.Sprintf("%s is not available (awaiting %d nodes)", l.Workload, awaited)
	default:
		return ""
	}
}

// awaited is how many pods are not available on nodes that work. A node that is down is not a rollout.
func (l Live) awaited() int32 {
	return max(0, l.Desired-l.Available-l.gone())
}

// gone is how many pods that are not ready are on nodes whose kubelet does not answer.
func (l Live) gone() int32 {
	var n int32
	for _, p := range l.Pods {
		if p.NodeGone && !p.Ready {
			n++
		}
	}
	return n
}

// lastChange is when a workload or one of its pods last got further. A pod that crashes over and over does
// not get anywhere, however often it is briefly ready.
func (l Live) lastChange() time.Time {
	last := l.Changed
	for _, p := range l.Pods {
		if p.Created.After(last) {
			last = p.Created
		}
		if p.Ready && p.Since.After(last) {
			last = p.Since
		}
	}
	return last
}

// hung reports whether a rollout stands still for too long, and if not, after how long it would.
func (l Live) hung(now time.Time) (bool, time.Duration) {
	if l.NonCritical || l.moving() == "" {
		return false, 0
	}
	left := hungAfter - now.Sub(l.lastChange())
	return left <= 0, max(left, 0)
}

// down reports whether no pod of a workload that should have some is available.
func (l Live) down() bool { return l.Desired > 0 && l.Available == 0 }

// wentDown is since when a workload is down as far as its pods tell; the zero time if they do not.
func (l Live) wentDown() time.Time {
	var last time.Time
	for _, p := range l.Pods {
		if !p.Ready && p.Since.After(last) {
			last = p.Since
		}
	}
	return last
}
