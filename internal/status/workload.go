package status

import (
	"fmt"
	"time"
)

const (
	// hungAfter is how long a rollout may stall before it counts as hung, and how long a pod may take to start. It
	// is what OpenShift's operator waits.
	hungAfter = 10 * time.Minute
	// downAfter is how long a workload may have no available pod before the network counts as not available:
	// longer than a restart of the only pod, shorter than a person's patience.
	downAfter = 30 * time.Second
	// ripe is how long something that may pass by itself must last before it is Degraded. It is what OpenShift's operator
	// waits.
	ripe = 2 * time.Minute
)

// String names a workload in sentences, as in: DaemonSet "openshift-flannel/flanneld".
func (w Workload) String() string {
	return fmt.Sprintf("%s %q", w.Kind, w.Namespace+"/"+w.Name)
}

// id is the key of a workload in Memory.
func (w Workload) id() string { return w.Kind + "/" + w.Namespace + "/" + w.Name }

// view is one workload at the moment at which it is looked at.
type view struct {
	Live
	now time.Time
	// deadline is how long its rollout may stall.
	deadline time.Duration
	// exists is false for a workload that is wanted and does not exist; then Live has nothing but its name.
	exists bool
	// rolling is true while its newest revision does not run everywhere; since says when that began.
	rolling bool
	since   time.Time
	// advanced is when there was last one more pod of its newest revision than before.
	advanced time.Time
	// installed is true if its component has been available at some time.
	installed bool
	// troubled are the pods that something keeps from working, the gravest trouble first; counted are those of them that
	// make the component Degraded when that lasts.
	troubled, counted []Pod
}

// count returns the pods whose trouble makes the component Degraded when it lasts: during a rollout, pods that are not
// ready are what a rollout looks like, and starting is trouble only if it takes very long. again is after how long there
// will be one more.
func (v view) count() (counted []Pod, again time.Duration) {
	for _, p := range v.troubled {
		if v.rolling && (p.Trouble == NotReady || p.Trouble == Starting) {
			continue
		}
		if left := min(hungAfter-v.now.Sub(p.Since), hungAfter); p.Trouble == Starting && left > 0 {
			if again == 0 || left < again {
				again = left
			}
			continue
		}
		counted = append(counted, p)
	}
	return counted, again
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

// settled reports whether the newest revision runs wherever it should: nothing is left of a rollout.
func (l Live) settled() bool {
	return l.Observed >= l.Generation && l.Updated >= l.Desired-l.gone() && l.awaited() == 0
}

// lastChange is when a rollout or one of its pods last got further. A pod that crashes repeatedly does not get anywhere, however often
// it is briefly ready; nor does one that is evicted or deleted repeatedly, however often it is created.
func (v view) lastChange() time.Time {
	last := v.since
	if v.advanced.After(last) && !v.advanced.After(v.now) {
		last = v.advanced
	}
	for _, p := range v.Pods {
		if p.Ready && p.Trouble == "" && p.Since.After(last) && !p.Since.After(v.now) {
			last = p.Since
		}
	}
	return last
}

// down reports whether no pod of a workload that should have some is available.
func (v view) down() bool { return !v.exists || v.Desired > 0 && v.Available == 0 }

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

// troubledSince is since when pods have been in the trouble that they are in; the zero time if none is.
func troubledSince(pods []Pod) time.Time {
	var first time.Time
	for _, p := range pods {
		if !p.Ready && (first.IsZero() || p.Since.Before(first)) {
			first = p.Since
		}
	}
	return first
}
