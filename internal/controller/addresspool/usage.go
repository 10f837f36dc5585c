package addresspool

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// usage is the number of assigned addresses of a pool, and of all.
type usage struct {
	pool         string
	used, within uint64
	// networks are the definitions that assign from the pool.
	networks []*unstructured.Unstructured
}

// lowFraction is the fraction of free addresses, as a divisor, below which a definition gets an event.
const lowFraction = 10

// state returns the reason of the event; empty if there is none.
func (u usage) state() string {
	switch {
	case u.used >= u.within:
		return "AddressesExhausted"
	case u.used >= u.within-u.within/lowFraction:
		return "AddressesRunLow"
	}
	return ""
}

// usages returns the usage of all pools. The size of a pool is that of the largest range in a definition, or that of the network without a
// definition.
func usages(w *observation) []usage {
	var out []usage
	for _, p := range w.pools {
		u := usage{pool: p.name, used: uint64(len(p.allocations))}
		for _, n := range w.networks {
			for _, r := range n.Ranges {
				if pool := n.Pool(r, p.Node); pool != p.Pool {
					continue
				}
				size := r.Size()
				if n.Sliced {
					size = min(size, 1<<min(n.SliceHostBits, 62))
				}
				u.within = max(u.within, size)
				u.networks = append(u.networks, n.object)
			}
		}
		if u.within == 0 {
			u.within = whereabouts.Usable(p.Network).Size()
		}
		out = append(out, u)
	}
	return out
}

// report sets the metrics, and records events on the definitions of pools with few free addresses, once per change.
func (c *Controller) report(w *observation) {
	all := usages(w)
	c.Metrics.set(all)
	before := c.reported
	c.reported = map[client.ObjectKey]string{}
	for _, u := range all {
		state := u.state()
		for _, definition := range u.networks {
			key := client.ObjectKeyFromObject(definition)
			key.Name += "\n" + u.pool
			c.reported[key] = state
			if state == "" || before[key] == state {
				continue
			}
			c.event(definition, corev1.EventTypeWarning, state, "Count", fmt.Sprintf(
				"%d of %d addresses of IPPool %s/%s are in use; pods without an address do not start. Delete pods that need none, or extend the range", u.used, u.within, c.Namespace, u.pool))
		}
	}
}
