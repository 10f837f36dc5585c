package addresspool

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// reason is the reason for the release of an address.
type reason string

const (
	podDeleted   reason = "the pod no longer exists"
	podEnded     reason = "the pod has ended"
	nodeDeleted  reason = "the node of the pod was deleted"
	claimDeleted reason = "the IPAMClaim that kept it, and the pod, no longer exist"
	orphaned     reason = "an agent has reserved the address and not assigned it"
	notReleased  reason = ""
)

// candidate is an allocation or reservation that may be released.
type candidate struct {
	// pool and offset identify an allocation, reservation and uid a reservation.
	pool, offset string
	reservation  string
	uid          types.UID
	owner        whereabouts.Allocation
	reason       reason
}

// findCandidates returns the candidates according to lists.
func findCandidates(w *observation) []candidate {
	var found []candidate
	assigned := map[string][]whereabouts.Allocation{}
	for _, p := range w.pools {
		r := whereabouts.Usable(p.Network)
		for offset, a := range p.allocations {
			if address, ok := r.Address(offset); ok {
				name := whereabouts.ReservationName(p.NetworkName, address)
				assigned[name] = append(assigned[name], a)
			}
			if why := w.releaseReason(a); why != notReleased {
				found = append(found, candidate{pool: p.name, offset: offset, owner: a, reason: why})
			}
		}
	}
	for _, r := range w.reservations {
		why := w.releaseReason(r.owner)
		if why == notReleased && !owned(r.owner, assigned[r.name]) {
			why = orphaned
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

// releaseReason returns why an owner no longer needs its address. Owners with an unknown form of reference keep it.
func (w *observation) releaseReason(a whereabouts.Allocation) reason {
	why := w.podReleaseReason(a)
	if a.Claim == "" || why == notReleased {
		return why
	}
	if uid, ok := w.claims[a.Claim]; w.claims == nil || ok && string(uid) == a.ClaimUID {
		return notReleased
	}
	return claimDeleted
}

func (w *observation) podReleaseReason(a whereabouts.Allocation) reason {
	if _, _, ok := splitRef(a.PodRef); !ok {
		return notReleased
	}
	uid, ok := w.pods[a.PodRef]
	switch {
	case !ok || a.PodUID != "" && string(uid) != a.PodUID:
		return podDeleted
	case w.ended[uid]:
		return podEnded
	case a.Node != "" && !w.nodes[a.Node]:
		return nodeDeleted
	}
	return notReleased
}
