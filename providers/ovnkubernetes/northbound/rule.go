package northbound

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// Priorities of access rules: a connection that one policy allows passes, although others isolate the pod.
const (
	dropPriority  = 1000
	allowPriority = 1001
)

// rule returns an access rule. Rules for packets from a pod apply after the translation of Services.
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

// Directions of access rules.
const (
	toPod   = "to-lport"
	fromPod = "from-lport"
)

// clip truncates a name to the column's limit. The name is informative, and need not be unique.
func clip(name string) string {
	const limit = 63
	if len(name) > limit {
		return name[:limit]
	}
	return name
}

// identifier returns the name of a set in matches. It is a hash, since names of objects are longer and have other characters than matches allow.
func identifier(prefix, text string) string {
	sum := sha256.Sum256([]byte(text))
	return prefix + hex.EncodeToString(sum[:16])
}
