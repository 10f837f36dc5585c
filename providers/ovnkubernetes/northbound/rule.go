package northbound

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// The priorities of access rules: what a policy allows is allowed, although others isolate the pod.
const (
	dropPriority  = 1000
	allowPriority = 1001
)

// rule is an access rule. Those for what leaves a pod apply to the addresses after the translation of Services.
func rule(key, direction string, priority int, action, match string) ovsdb.Desired {
	options := ovsdb.Map{}
	if direction == fromPod {
		options["apply-after-lb"] = "true"
	}
	return ovsdb.Desired{Ref: ovsdb.Ref{Table: tableAccessRules, Key: key}, Columns: map[string]any{
		"name": ovsdb.Set{clip(key)}, "priority": priority, "direction": direction, "match": match, "action": action, "options": options,
		"log": false, "severity": ovsdb.Set{}, "meter": ovsdb.Set{},
	}}
}

// The directions of access rules.
const (
	toPod   = "to-lport"
	fromPod = "from-lport"
)

// clip shortens a name to what the column takes: it is for people and logs, and need not be unique.
func clip(name string) string {
	const most = 63
	if len(name) > most {
		return name[:most]
	}
	return name
}

// identifier is the name of a set in matches: the same for the same text, and for no other one, as names of objects are longer, and have
// other characters, than matches admit.
func identifier(prefix, text string) string {
	sum := sha256.Sum256([]byte(text))
	return prefix + hex.EncodeToString(sum[:16])
}
