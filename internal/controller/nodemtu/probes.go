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
	// fewest is how many nodes are asked at the same time at least: a node that is slow does not hold up the others.
	fewest = 10
	// share of the nodes of a large cluster are asked at the same time, a hundredth: it does not get thousands of pods at
	// once, and the record of all nodes, which grows with them, is written some hundred times, however many they are.
	share = 100
	// probeTimeout is how long a probe may take, pulling its image included.
	probeTimeout = 2 * time.Minute
	// firstRetry and lastRetry bound the time between two probes of a node that could not be asked.
	firstRetry, lastRetry = 5 * time.Second, 5 * time.Minute
)

// node is what is looked at of a Node.
type node struct {
	name, uid string
	// gone is true if the kubelet does not answer, so that no pod would start.
	gone bool
}

// probe is a probe's pod.
type probe struct {
	name, node, nodeUID string
	started             time.Time
	phase               corev1.PodPhase
	// answer is the termination message, waiting why the container does not start.
	answer, waiting string
	deleting        bool
}

// failure is how often a node could not be asked in a row, and why the last time.
type failure struct {
	times int
	last  time.Time
	why   string
}

// view is everything that step looks at.
type view struct {
	now      time.Time
	nodes    []node
	probes   []probe
	record   hostmtu.Record
	failures map[string]failure // by UID
}

// actions is what is to be done next.
type actions struct {
	start  []node
	remove []probe
	// record is the new record, write whether it differs.
	record hostmtu.Record
	write  bool
	// failures are those of nodes that are still there.
	failures map[string]failure
	// waiting are the names of the nodes without an answer.
	waiting []string
	// again is after how long to look again although nothing happens; 0 means never.
	again time.Duration
}

// step decides what to do next: take in what probes have answered, forget nodes that are gone, ask nodes that
// have not been asked, and settle once enough have answered.
func step(v view) actions {
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
		if a.take(v.now, p, n) {
			busy[n.uid] = true
		}
	}
	a.ask(v, busy)
	a.settle(v)
	return a
}

// take takes in the state of a probe of a node, and reports whether it still runs.
func (a *actions) take(now time.Time, p probe, n node) bool {
	left := probeTimeout - now.Sub(p.started)
	switch {
	case p.deleting:
		return true // its name is not free yet
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
		a.fail(now, n, cmp.Or(p.answer, "the probe failed without saying why"))
	case left <= 0:
		a.fail(now, n, fmt.Sprintf("the probe did not end within %v: %s", probeTimeout, cmp.Or(p.waiting, "it was not started")))
	default:
		a.lookAgain(left)
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

func (a *actions) fail(now time.Time, n node, why string) {
	a.failures[n.uid] = failure{times: a.failures[n.uid].times + 1, last: now, why: why}
}

// ask chooses the nodes to ask next, in the order of their names.
func (a *actions) ask(v view, busy map[string]bool) {
	running, most := len(busy), max(fewest, len(v.nodes)/share)
	for _, n := range slices.SortedFunc(slices.Values(v.nodes), func(x, y node) int { return cmp.Compare(x.name, y.name) }) {
		if a.record.Known(n.name, n.uid) {
			continue
		}
		if !n.gone {
			a.waiting = append(a.waiting, n.name)
		}
		if f := a.failures[n.uid]; f.times > 0 {
			if left := f.last.Add(retryAfter(f.times)).Sub(v.now); left > 0 {
				a.lookAgain(left)
				continue
			}
		}
		if !n.gone && !busy[n.uid] && running < most {
			a.start = append(a.start, n)
			running++
		}
	}
}

func retryAfter(times int) time.Duration {
	wait := firstRetry
	for range times - 1 {
		wait = min(2*wait, lastRetry)
	}
	return wait
}

// settle decides the MTU that a fresh network starts from: when every node that works has answered, or some time after the first has. No
// single node decides it while others may still answer.
func (a *actions) settle(v view) {
	if a.record.Settled > 0 || len(a.record.Nodes) == 0 {
		return
	}
	if a.record.First.IsZero() {
		a.record.First = v.now
	}
	least, doubtful := follow(a.record)
	if len(a.waiting) > 0 {
		if left := hostmtu.SettleAfter - v.now.Sub(a.record.First); left > 0 {
			a.lookAgain(left)
			return
		}
		// The answer or the failure of another node is an event, or the time that is left for it is.
		if doubtful || len(a.record.Nodes) == 1 && a.untried(v) {
			return
		}
	}
	a.record.Settled = least
	a.write = true
}

// untried reports whether a node that is waited for has not failed to answer yet.
func (a *actions) untried(v view) bool {
	return slices.ContainsFunc(v.nodes, func(n node) bool {
		return !n.gone && !a.record.Known(n.name, n.uid) && a.failures[n.uid].times == 0
	})
}

// leastPlausible and mostPlausible bound the MTU that the link of a default route has: IPv6 allows no less, and jumbo frames of Ethernet are
// no longer.
const leastPlausible, mostPlausible = 1280, 9216

func plausible(mtu int) bool { return leastPlausible <= mtu && mtu <= mostPlausible }

// follow returns the least MTU that the network may follow. Implausible ones count only where more nodes have such than have others;
// then it is doubtful as long as other nodes may answer.
func follow(r hostmtu.Record) (least int, doubtful bool) {
	usual, odd := hostmtu.Record{Nodes: map[string]hostmtu.Node{}}, 0
	for name, n := range r.Nodes {
		if plausible(n.MTU) {
			usual.Nodes[name] = n
		} else {
			odd++
		}
	}
	if odd > len(usual.Nodes) {
		return r.Least(), true
	}
	return usual.Least(), false
}

func (a *actions) lookAgain(after time.Duration) {
	if a.again == 0 || after < a.again {
		a.again = after
	}
}

// Answer is what the probe writes to its termination message.
type Answer struct {
	// MTU is the least MTU in bytes of the links of the default routes, Links are their names.
	MTU   int      `json:"mtu,omitempty"`
	Links []string `json:"links,omitempty"`
	// Interfaces are the names of all interfaces that have an address by which other hosts may reach this one, at most
	// MostInterfaces.
	Interfaces []string `json:"interfaces,omitempty"`
	// Error says why there is no MTU.
	Error string `json:"error,omitempty"`
}

// MostInterfaces is how many interfaces a node reports; the answer has space for 4 KiB. The name of one has at most 15 bytes.
const MostInterfaces, longestName = 100, 15

// parseAnswer reads an answer. Interfaces that are too many, or have names that the kernel does not allow, count as not reported.
func parseAnswer(text string) (Answer, error) {
	var answer Answer
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return Answer{}, fmt.Errorf("the probe's answer is not JSON: %w", err)
	}
	if answer.MTU <= 0 {
		return Answer{}, fmt.Errorf("the probe found no MTU: %s", answer.Error)
	}
	odd := func(name string) bool {
		return name == "" || len(name) > longestName || strings.ContainsFunc(name, func(r rune) bool { return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) })
	}
	if len(answer.Interfaces) > MostInterfaces || slices.ContainsFunc(answer.Interfaces, odd) {
		answer.Interfaces = nil
	}
	return answer, nil
}
