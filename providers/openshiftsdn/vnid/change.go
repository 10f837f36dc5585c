package vnid

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// change handles the change request of a NetNamespace. It returns a copy without the request, and with another VNID if the request is granted. done is false
// if the request has to wait.
func (p *planner) change(n *sdnv1.NetNamespace) (out *sdnv1.NetNamespace, done bool) {
	request := n.Annotations[sdnv1.AnnotationChangeNetwork]
	out = withoutRequest(n)
	if p.Mode != agentconfig.Multitenant {
		p.refuse(n, "network plugin does not allow NetNamespace renumbering")
		return out, true
	}
	if !Valid(n) {
		p.refuse(n, "request %q: this NetNamespace is invalid; delete it to get another one", request)
		return out, true
	}
	vnid, done := p.requested(n, request)
	if !done {
		return n, false
	}
	if vnid != n.NetID {
		if !p.release(n.NetID) {
			return n, false
		}
		out.NetID = vnid
		p.shared[vnid]++
		if uid, exists := p.uids[n.Name]; exists {
			p.plan.Held[n.Name] = Held{uid, vnid}
		}
	}
	return out, true
}

// requested returns the requested VNID; the current one if the request is refused.
func (p *planner) requested(n *sdnv1.NetNamespace, request string) (vnid uint32, done bool) {
	target, join := strings.CutPrefix(request, sdnv1.ChangeJoin)
	switch {
	case n.Name == metav1.NamespaceDefault && request != sdnv1.ChangeGlobal:
		p.refuse(n, "request %q: namespace default is global always", request)
	case request == sdnv1.ChangeGlobal:
		return sdnv1.VNIDGlobal, true
	case request == sdnv1.ChangeIsolate:
		if n.NetID >= sdnv1.VNIDFirst && p.shared[n.NetID] == 1 {
			return n.NetID, true
		}
		return p.allocate(n)
	case !join:
		p.refuse(n, "request %q is unknown: write global, isolate, or join: and the name of a namespace", request)
	case target == n.Name:
		p.refuse(n, "request %q: a namespace cannot join itself", request)
	case p.byName[target] == nil || !Valid(p.byName[target]):
		p.refuse(n, "request %q: there is no valid NetNamespace %q", request, target)
	default:
		return p.byName[target].NetID, true
	}
	return n.NetID, true
}

// allocate returns a VNID that no namespace has or recently had. ok is false if the record must be written first, or if no VNID is free.
func (p *planner) allocate(object runtime.Object) (vnid uint32, ok bool) {
	if uint32(len(p.shared)+len(p.record.Released)) >= cycle {
		p.problem(object, ReasonExhausted, "all VNIDs are in use or were until lately")
		return 0, false
	}
	for p.plan.Cursor != p.record.Next {
		vnid, p.plan.Cursor = p.plan.Cursor, after(p.plan.Cursor, 1)
		if _, rests := p.record.Released[vnid]; p.shared[vnid] == 0 && !rests {
			p.shared[vnid]++
			return vnid, true
		}
	}
	p.reserve++
	return 0, false
}

// release records that a NetNamespace leaves a VNID. ok is false if that has to wait.
func (p *planner) release(vnid uint32) (ok bool) {
	if vnid < sdnv1.VNIDFirst || vnid > sdnv1.VNIDLast || p.shared[vnid] > 1 {
		p.shared[vnid]--
		return true
	}
	p.released = true
	if _, rests := p.record.Released[vnid]; !rests && ahead(p.plan.Cursor, vnid) < near {
		if len(p.record.Released) >= maxReleased {
			return false
		}
		if p.record.Released == nil {
			p.record.Released = map[uint32]int64{}
		}
		p.record.Released[vnid] = p.Now.Unix()
	}
	p.shared[vnid]--
	return true
}
