package addresspool

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// reason is why an address may be released.
type reason string

const (
	podGone     reason = "the pod no longer exists"
	podEnded    reason = "the pod has ended"
	nodeGone    reason = "the node of the pod was deleted"
	claimGone   reason = "the IPAMClaim that kept it, and the pod, no longer exist"
	leftBehind  reason = "an agent has reserved the address and not assigned it"
	notReleased reason = ""
)

// candidate is an allocation or a reservation that may be released.
type candidate struct {
	// pool and offset are those of an allocation; reservation and uid those of a reservation.
	pool, offset string
	reservation  string
	uid          types.UID
	owner        whereabouts.Allocation
	reason       reason
}

// find returns what may be released by what lists say.
func find(w *world) []candidate {
	var found []candidate
	assigned := map[string][]whereabouts.Allocation{}
	for _, p := range w.pools {
		r := whereabouts.Usable(p.Network)
		for offset, a := range p.allocations {
			if address, ok := r.Address(offset); ok {
				name := whereabouts.ReservationName(p.NetworkName, address)
				assigned[name] = append(assigned[name], a)
			}
			if why := w.without(a); why != notReleased {
				found = append(found, candidate{pool: p.name, offset: offset, owner: a, reason: why})
			}
		}
	}
	for _, r := range w.reservations {
		why := w.without(r.owner)
		if why == notReleased && !owned(r.owner, assigned[r.name]) {
			why = leftBehind
		}
		if why != notReleased {
			found = append(found, candidate{reservation: r.name, uid: r.uid, owner: r.owner, reason: why})
		}
	}
	return found
}

func owned(owner whereabouts.Allocation, assigned []whereabouts.Allocation) bool {
	for _, a := range assigned {
		if owner.Owns(a) {
			return true
		}
	}
	return false
}

// without returns why an owner has no need of its address. Owners that cannot be found, since whereabouts recorded them in another form, keep it.
func (w *world) without(a whereabouts.Allocation) reason {
	why := w.withoutPod(a)
	if a.Claim == "" || why == notReleased {
		return why
	}
	if uid, ok := w.claims[a.Claim]; w.claims == nil || ok && string(uid) == a.ClaimUID {
		return notReleased
	}
	return claimGone
}

func (w *world) withoutPod(a whereabouts.Allocation) reason {
	if _, _, ok := splitRef(a.PodRef); !ok {
		return notReleased
	}
	uid, ok := w.pods[a.PodRef]
	switch {
	case !ok || a.PodUID != "" && string(uid) != a.PodUID:
		return podGone
	case w.ended[uid]:
		return podEnded
	case a.Node != "" && !w.nodes[a.Node]:
		return nodeGone
	}
	return notReleased
}
