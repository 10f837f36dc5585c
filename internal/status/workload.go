package status

import (
	"fmt"
	"time"
)

const (
	// stalledAfter is the time without progress after which a rollout counts as stalled, and the time that a pod may take to
	// start. It is that of OpenShift's operator.
	stalledAfter = 10 * time.Minute
	// downAfter is the time without available pods after which a workload is unavailable: longer than the restart of a
	// single pod.
	downAfter = 30 * time.Second
	// degradedAfter is the time for which a problem that may resolve automatically must last before it is Degraded. It is that
	// of OpenShift's operator.
	degradedAfter = 2 * time.Minute
)

// String returns the name for sentences, for example: DaemonSet "openshift-flannel/flanneld".
func (w Workload) String() string {
	return fmt.Sprintf("%s %q", w.Kind, w.Namespace+"/"+w.Name)
}

// id returns the key of a workload in Memory.
func (w Workload) id() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// view is the state of one workload during a decision.
type view struct {
	Live
	now time.Time
	// deadline is the time without progress after which its rollout is stalled.
	deadline time.Duration
	// exists is false for a desired workload that does not exist; then Live has only its name.
	exists bool
	// rolling is true during the rollout of its newest revision, since is the start of the rollout.
	rolling bool
	since   time.Time
	// advanced is the time at which the number of pods of its newest revision last increased.
	advanced time.Time
	// installed is true if its component has ever been available.
	installed bool
	// failing are the pods with problems, the most severe first; counted are those that make the component Degraded if the
	// problem lasts.
	failing, counted []Pod
}

// count returns the pods whose problem makes the component Degraded if it lasts: pods that are not ready during a rollout are
// expected, and Starting is a problem only after a long time. again is the duration after which one more pod counts.
func (v view) count() (counted []Pod, again time.Duration) {
	for _, p := range v.failing {
		if v.rolling && (p.Problem == NotReady || p.Problem == Starting) {
			continue
		}
		if left := min(stalledAfter-v.now.Sub(p.Since), stalledAfter); p.Problem == Starting && left > 0 {
			if again == 0 || left < again {
				again = left
			}
			continue
		}
		counted = append(counted, p)
	}
	return counted, again
}

// awaited returns the number of unavailable pods on reachable nodes. Pods on unreachable nodes are not part of a rollout.
func (l Live) awaited() int32 {
	return max(0, l.Desired-l.Available-l.unreachable())
}

// unreachable returns the number of pods that are not ready on unreachable nodes.
func (l Live) unreachable() int32 {
	var n int32
	for _, p := range l.Pods {
		if p.NodeUnreachable && !p.Ready {
			n++
		}
	}
	return n
}

// settled reports whether the rollout of the newest revision has finished.
func (l Live) settled() bool {
	return l.Observed >= l.Generation && l.Updated >= l.Desired-l.unreachable() && l.awaited() == 0
}

// lastChange returns the time of the last progress of a rollout. A pod that crashes repeatedly makes no progress, even if it is briefly
// ready; nor does one that is evicted or deleted and created repeatedly.
func (v view) lastChange() time.Time {
	last := v.since
	if v.advanced.After(last) && !v.advanced.After(v.now) {
		last = v.advanced
	}
	for _, p := range v.Pods {
		if p.Ready && p.Problem == "" && p.Since.After(last) && !p.Since.After(v.now) {
			last = p.Since
		}
	}
	return last
}

// down reports whether a workload that should have pods has no available one.
func (v view) down() bool { return !v.exists || v.Desired > 0 && v.Available == 0 }

// wentDown returns the time since which a workload is down according to its pods; the zero time if unknown.
func (l Live) wentDown() time.Time {
	var last time.Time
	for _, p := range l.Pods {
		if !p.Ready && p.Since.After(last) {
			last = p.Since
		}
	}
	return last
}

// problemSince returns the time since which pods have problems; the zero time if none has.
func problemSince(pods []Pod) time.Time {
	var first time.Time
	for _, p := range pods {
		if !p.Ready && (first.IsZero() || p.Since.Before(first)) {
			first = p.Since
		}
	}
	return first
}
