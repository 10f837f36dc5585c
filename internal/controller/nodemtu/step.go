package nodemtu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/hostmtu"
)

const (
	// minParallel is the minimum number of nodes that are probed concurrently, so that a slow node does not block others.
	minParallel = 10
	// parallelShare is the divisor for the number of concurrent probes in large clusters. It limits the number of pods, and the number of
	// writes of the record to about a hundred.
	parallelShare = 100
	// probeTimeout is the maximum duration of a probe, including the image pull.
	probeTimeout = 2 * time.Minute
	// firstRetry and lastRetry are the first and the maximum delay between two probes of a node after a failure.
	firstRetry, lastRetry = 5 * time.Second, 5 * time.Minute
)

// node is the relevant part of a Node.
type node struct {
	name, uid string
	// unreachable is true if the kubelet does not respond, so that no pod would start.
	unreachable bool
}

// probe is the pod of a probe.
type probe struct {
	name, node, nodeUID string
	started             time.Time
	phase               corev1.PodPhase
	// answer is the termination message, waiting the reason why the container does not start.
	answer, waiting string
	deleting        bool
}

// failure is the number of consecutive failures of a node, and the last reason.
type failure struct {
	count  int
	last   time.Time
	reason string
}

// input is the input of step.
type input struct {
	now      time.Time
	nodes    []node
	probes   []probe
	record   hostmtu.Record
	failures map[string]failure // by UID
}

// actions are the next actions.
type actions struct {
	start  []node
	remove []probe
	// record is the new record; write is true if it differs.
	record hostmtu.Record
	write  bool
	// failures are those of existing nodes.
	failures map[string]failure
	// waiting are the names of the nodes without a result.
	waiting []string
	// requeueAfter is the time until the next reconcile without an event; 0 means never.
	requeueAfter time.Duration
}

// step returns the next actions: store results, drop deleted nodes, start probes, and settle once enough nodes have a result.
func step(v input) actions {
	a := actions{failures: map[string]failure{}, record: hostmtu.Record{Nodes: map[string]hostmtu.Node{}, Settled: v.record.Settled, First: v.record.First, Interfaces: v.record.Interfaces}}
	present := map[string]node{}
	for _, n := range v.nodes {
		present[n.uid] = n
		if v.record.Known(n.name, n.uid) {
			a.record.Nodes[n.name] = v.record.Nodes[n.name]
		}
		if f, failed := v.failures[n.uid]; failed {
			a.failures[n.uid] = f
		}
	}
	a.write = len(a.record.Nodes) != len(v.record.Nodes)
	busy := map[string]bool{}
	for _, p := range v.probes {
		n, exists := present[p.nodeUID]
		if !exists || a.record.Known(n.name, n.uid) {
			a.drop(p)
			continue
		}
		if a.processProbe(v.now, p, n) {
			busy[n.uid] = true
		}
	}
	a.startProbes(v, busy)
	a.settle(v)
	return a
}

// processProbe processes the state of a node's probe, and reports whether it is still running.
func (a *actions) processProbe(now time.Time, p probe, n node) bool {
	left := probeTimeout - now.Sub(p.started)
	switch {
	case p.deleting:
		return true // its name is still in use
	case p.phase == corev1.PodSucceeded:
		answer, err := parseAnswer(p.answer)
		if err != nil {
			a.fail(now, n, err.Error())
			break
		}
		a.record.AddInterfaces(answer.Interfaces)
		a.record.Nodes[n.name] = hostmtu.Node{Mark: hostmtu.Mark(n.uid), MTU: answer.MTU}
		a.write = true
		delete(a.failures, n.uid)
	case p.phase == corev1.PodFailed:
		a.fail(now, n, cmp.Or(p.answer, "the probe failed without a message"))
	case left <= 0:
		a.fail(now, n, fmt.Sprintf("the probe did not end within %v: %s", probeTimeout, cmp.Or(p.waiting, "it was not started")))
	default:
		a.requeue(left)
		return true
	}
	a.drop(p)
	return false
}

func (a *actions) drop(p probe) {
	if !p.deleting {
		a.remove = append(a.remove, p)
	}
}

func (a *actions) fail(now time.Time, n node, reason string) {
	a.failures[n.uid] = failure{count: a.failures[n.uid].count + 1, last: now, reason: reason}
}

// startProbes selects the nodes to probe next, in the order of their names.
func (a *actions) startProbes(v input, busy map[string]bool) {
	running, limit := len(busy), max(minParallel, len(v.nodes)/parallelShare)
	for _, n := range slices.SortedFunc(slices.Values(v.nodes), func(x, y node) int { return cmp.Compare(x.name, y.name) }) {
		if a.record.Known(n.name, n.uid) {
			continue
		}
		if !n.unreachable {
			a.waiting = append(a.waiting, n.name)
		}
		if f := a.failures[n.uid]; f.count > 0 {
			if left := f.last.Add(retryAfter(f.count)).Sub(v.now); left > 0 {
				a.requeue(left)
				continue
			}
		}
		if !n.unreachable && !busy[n.uid] && running < limit {
			a.start = append(a.start, n)
			running++
		}
	}
}

func retryAfter(count int) time.Duration {
	wait := firstRetry
	for range count - 1 {
		wait = min(2*wait, lastRetry)
	}
	return wait
}

// settle decides the MTU for a new network: when all reachable nodes have a result, or some time after the first result. No single node
// decides it while others may still respond.
func (a *actions) settle(v input) {
	if a.record.Settled > 0 || len(a.record.Nodes) == 0 {
		return
	}
	if a.record.First.IsZero() {
		a.record.First = v.now
	}
	least, doubtful := leastMTU(a.record)
	if len(a.waiting) > 0 {
		if left := hostmtu.SettleAfter - v.now.Sub(a.record.First); left > 0 {
			a.requeue(left)
			return
		}
		// The result or failure of another node, or its timeout, starts a reconcile.
		if doubtful || len(a.record.Nodes) == 1 && a.hasUntried(v) {
			return
		}
	}
	a.record.Settled = least
	a.write = true
}

// hasUntried reports whether a pending node has not failed yet.
func (a *actions) hasUntried(v input) bool {
	return slices.ContainsFunc(v.nodes, func(n node) bool {
		return !n.unreachable && !a.record.Known(n.name, n.uid) && a.failures[n.uid].count == 0
	})
}

// minPlausible and maxPlausible are the range of plausible MTUs: the minimum of IPv6, and jumbo frames of Ethernet.
const minPlausible, maxPlausible = 1280, 9216

func plausible(mtu int) bool { return minPlausible <= mtu && mtu <= maxPlausible }

// leastMTU returns the least MTU of the nodes. Implausible values count only if most nodes have one; then the result is doubtful while
// other nodes may respond.
func leastMTU(r hostmtu.Record) (least int, doubtful bool) {
	usual, implausible := hostmtu.Record{Nodes: map[string]hostmtu.Node{}}, 0
	for name, n := range r.Nodes {
		if plausible(n.MTU) {
			usual.Nodes[name] = n
		} else {
			implausible++
		}
	}
	if implausible > len(usual.Nodes) {
		return r.Least(), true
	}
	return usual.Least(), false
}

func (a *actions) requeue(after time.Duration) {
	if a.requeueAfter == 0 || after < a.requeueAfter {
		a.requeueAfter = after
	}
}

// Answer is the termination message of the probe.
type Answer struct {
	// MTU is the least MTU in bytes of the links of the default routes; Links are their names.
	MTU   int      `json:"mtu,omitempty"`
	Links []string `json:"links,omitempty"`
	// Interfaces are the names of all interfaces with an address that other hosts can reach, at most MaxInterfaces.
	Interfaces []string `json:"interfaces,omitempty"`
	// Error is the reason why there is no MTU.
	Error string `json:"error,omitempty"`
}

// MaxInterfaces is the maximum number of interfaces in an Answer, whose size is limited to 4 KiB. maxNameLength is the maximum length of an
// interface's name in bytes.
const MaxInterfaces, maxNameLength = 100, 15

// parseAnswer parses an Answer. Too many interfaces or invalid names are dropped.
func parseAnswer(text string) (Answer, error) {
	var answer Answer
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return Answer{}, fmt.Errorf("the probe's answer is not JSON: %w", err)
	}
	if answer.MTU <= 0 {
		return Answer{}, fmt.Errorf("the probe found no MTU: %s", answer.Error)
	}
	invalid := func(name string) bool {
		return name == "" || len(name) > maxNameLength || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) })
	}
	if len(answer.Interfaces) > MaxInterfaces || slices.ContainsFunc(answer.Interfaces, invalid) {
		answer.Interfaces = nil
	}
	return answer, nil
}
