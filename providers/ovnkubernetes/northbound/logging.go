package northbound

import (
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// loggingMeter is the name of the meter of NetworkPolicy messages.
const loggingMeter = "acl-logging"

// SetLogging sets the severities of messages about connections that the NetworkPolicies of a namespace allow or deny.
func (s *State) SetLogging(namespace string, l topology.Logging) {
	if s.logging[namespace] == l {
		return
	}
	if delete(s.logging, namespace); l != (topology.Logging{}) {
		s.logging[namespace] = l
	}
	for id := range s.policiesOf[namespace] {
		s.touch(policyUnit, id.String())
	}
	s.touch(isolationUnit, namespace)
	s.touch(meterUnit, "")
}

// SetRateLimit sets the maximum number of such messages per second and node.
func (s *State) SetRateLimit(perSecond uint32) {
	if s.rateLimit != perSecond {
		s.rateLimit = perSecond
		s.touch(meterUnit, "")
	}
}

// meterRows returns the meter of messages if any namespace has messages. All rules share it: the limit applies to a node.
func (s *State) meterRows() []ovsdb.Desired {
	if len(s.logging) == 0 {
		return nil
	}
	band := ovsdb.Desired{Ref: ovsdb.Ref{Table: tableMeterBand, Key: loggingMeter}, Columns: map[string]any{"action": "drop", "rate": int(s.rateLimit)}}
	return []ovsdb.Desired{band, {Ref: ovsdb.Ref{Table: tableMeter, Key: loggingMeter}, Columns: map[string]any{
		"name": loggingMeter, "unit": "pktps", "bands": ovsdb.Set{band.Ref},
	}}}
}

// logged enables messages for each connection that a rule matches; disabled without a severity.
func logged(r ovsdb.Desired, severity string) {
	if severity != "" {
		r.Columns["log"], r.Columns["severity"], r.Columns["meter"] = true, ovsdb.Set{severity}, ovsdb.Set{loggingMeter}
	}
}
