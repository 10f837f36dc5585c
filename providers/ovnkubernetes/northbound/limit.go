package northbound

import (
	"fmt"
	"math"
	"strings"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// limitPriority is the priority of all limits: each matches one port.
const limitPriority = 100

// Directions of limits, as seen from the switch.
const (
	sends = "from-lport"
	gets  = "to-lport"
)

// limitRows returns the bandwidth limits of a pod. ovn-controller implements them as meters on the node of the pod.
func limitRows(p *Pod) []ovsdb.Desired {
	name := topology.PodPort(p.Namespace, p.Name)
	var rows []ovsdb.Desired
	for _, l := range []struct {
		direction, port string
		kilobits        uint64
	}{{sends, "inport", p.Limits.Egress}, {gets, "outport", p.Limits.Ingress}} {
		if l.kilobits == 0 || l.kilobits > math.MaxUint32 {
			continue // higher rates exceed any link
		}
		rows = append(rows, ovsdb.Desired{Ref: ovsdb.Ref{Table: tableLimit, Key: name + " " + l.direction}, Columns: map[string]any{
			"priority": limitPriority, "direction": l.direction, "match": fmt.Sprintf("%s == %q", l.port, name),
			"bandwidth": ovsdb.IntMap{"rate": int(l.kilobits), "burst": int(bandwidth.Burst(l.kilobits))},
		}})
	}
	return rows
}

// limitedPort returns the port of a limit by its key.
func limitedPort(key string) string {
	port, _, _ := strings.Cut(key, " ")
	return port
}
