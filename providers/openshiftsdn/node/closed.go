package node

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hostflows "github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

// reasonClosed: a node cannot apply what follows from an object, and drops the packets that the object would allow.
const reasonClosed = "ClosedOnNode"

// refusalLifetime is how long flows that Open vSwitch has refused are not applied again, unless they change.
const refusalLifetime = 5 * time.Minute

// refusedFlows are the flows that Open vSwitch has refused, by owner. The zero value has none.
type refusedFlows struct {
	mu  sync.Mutex
	all map[string]refusal
}

// refusal has the flows of an owner that were refused, and the reason.
type refusal struct {
	flows, reason string
	at            time.Time
}

// record records that Open vSwitch has refused flows of a set. It reports whether an error names their owner.
func (r *refusedFlows) record(set openflow.Set, err error) bool {
	var refused *hostflows.RefusedError
	if !errors.As(err, &refused) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]refusal{}
	}
	r.all[refused.Owner] = refusal{set.Owned(refused.Owner), "Open vSwitch refuses their flows: " + refusalText(refused.Err), time.Now()}
	return true
}

// transaction matches the number of a message in an error of ovs-ofctl, which differs each time.
var transaction = regexp.MustCompile(` \(xid=0x[0-9a-f]+\)`)

// refusalText returns the text of an error, which has up to 64 KiB of the refused flow.
func refusalText(err error) string {
	const most = 500
	text := transaction.ReplaceAllString(err.Error(), "")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " ..."
	}
	return text
}

// of returns the owners that are closed, with the reason: those whose flows in a set are the refused ones.
func (r *refusedFlows) of(set openflow.Set) map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for owner, refused := range r.all {
		if set.Owned(owner) != refused.flows || time.Since(refused.at) > refusalLifetime {
			delete(r.all, owner)
			continue
		}
		out[owner] = refused.reason
	}
	return out
}

// compute returns the desired state and its flows. The input has the owners that are closed, from which the rules of nftables follow.
func (d *daemon) compute(s snapshot) (want desired, result flows.Result, err error) {
	if want, err = desire(s); err != nil {
		return want, result, err
	}
	if result, err = flows.Desired(want.Input); err != nil {
		return want, result, err
	}
	if want.Input.Closed = d.refused.of(result.Flows); len(want.Input.Closed) > 0 {
		if result, err = flows.Desired(want.Input); err != nil {
			return want, result, err
		}
	}
	want.Input.Closed = result.Closed
	return want, result, nil
}

// closedProblems returns a problem for each closed owner, on its object. Of the NetworkPolicies of a namespace it is the one with the most rules.
func closedProblems(s snapshot, closed map[string]string) []objectevents.Problem {
	objects := map[string]runtime.Object{}
	for _, p := range slices.SortedFunc(slices.Values(s.Policies), func(a, b *networkingv1.NetworkPolicy) int {
		return cmp.Or(cmp.Compare(policySize(a), policySize(b)), -cmp.Compare(a.Name, b.Name))
	}) {
		objects[flows.PolicyOwner(p.Namespace)] = p
	}
	for _, f := range s.Firewalls {
		objects[firewallName(f)] = f
	}
	for _, p := range s.Pods {
		objects[flows.PodOwner(netpolicy.ID{Namespace: p.Namespace, Name: p.Name})] = p
	}
	var out []objectevents.Problem
	for _, owner := range slices.Sorted(maps.Keys(closed)) {
		if object := objects[owner]; object != nil {
			out = append(out, objectevents.Problem{Object: object, Reason: reasonClosed, Message: closedText(s.Node, owner, closed[owner])})
		}
	}
	return out
}

// closedText describes a closed owner.
func closedText(node, owner, reason string) string {
	return fmt.Sprintf("node %s drops all packets that the %s would allow: %s", node, owner, reason)
}

// policySize returns the number of rules, peers and ports of a policy.
func policySize(p *networkingv1.NetworkPolicy) int {
	n := 0
	for _, rule := range p.Spec.Ingress {
		n += 1 + len(rule.From) + len(rule.Ports)
	}
	for _, rule := range p.Spec.Egress {
		n += 1 + len(rule.To) + len(rule.Ports)
	}
	return n
}
