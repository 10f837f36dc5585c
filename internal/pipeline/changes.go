package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Decision is the result of checking a change.
type Decision string

// The decisions, from the least to the most severe.
const (
	// Safe means that the change is applied.
	Safe Decision = "safe"
	// NeedsAcknowledgement means that the change is applied once it is acknowledged.
	NeedsAcknowledgement Decision = "needs-acknowledgement"
	// Refused means that the change is not applied.
	Refused Decision = "refused"
)

// AcknowledgeAnnotation is the annotation of the Network with which a disruptive change is acknowledged. Its value is
// the hash of the change: Result.Acknowledgement.
const AcknowledgeAnnotation = "networkoperator.openshift.io/acknowledge"

// Change is one field whose desired value differs from the applied one.
type Change struct {
	// Field is the path of the field, for example spec.clusterNetwork[0].cidr.
	Field string `json:"field"`
	// Old is the applied value and New the desired one, as encoding/json decodes them into any; nil means no value.
	Old any `json:"old"`
	New any `json:"new"`
	// Decision is the result of checking the change.
	Decision Decision `json:"decision"`
	// Rule is the rule that the change violates, and Message the error with its remedy. For a safe change Rule is empty,
	// and Message is empty or describes what a user will notice.
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message,omitempty"`
	// Class is how the change becomes active, and Disruption its worst effect on users of the network. For a refused change,
	// which disrupts nothing, they describe the effect that it would have.
	Class      provider.Class      `json:"class"`
	Disruption provider.Disruption `json:"disruption"`
}

// changesOf returns all changes between two filled specifications with their refusals, in the order of the
// specification's fields.
func changesOf(prev, next *operatorv1.NetworkSpec, fields []provider.Field, refused Refusals) []Change {
	var changes []Change
	differences("spec", plain(prev), plain(next), func(path string, old, updated any) {
		f := allowed(fieldOf(fields, path))
		changes = append(changes, Change{Field: path, Old: old, New: updated, Decision: Safe, Message: f.Reason, Class: f.Class, Disruption: f.Disruption})
	})
	for _, r := range refused {
		changes = mark(changes, r, fields)
	}
	return changes
}

// allowed returns the effect of a change that no rule refuses. For a field that cannot be changed otherwise, that is an
// exception: a pool that grows, a second IP family, another spelling.
func allowed(f provider.Field) provider.Field {
	if f.Class != provider.Forbidden {
		return f
	}
	f.Class, f.Disruption, f.Reason = provider.Live, provider.NoDisruption, ""
	if within(f.Path, "spec.clusterNetwork") || within(f.Path, "spec.serviceNetwork") {
		f.Class, f.Disruption = provider.Rolling, provider.PodsRestart
	}
	if within(f.Path, "spec.serviceNetwork") {
		f.Reason = "Services keep their addresses, which the API server allocates; the network's own pods restart node by node"
	}
	if f.Path == "spec.clusterNetwork.cidr" {
		f.Reason = f.Growth
	}
	return f
}

// mark sets a refusal in the changes of its field, or appends a change if there is none. A change that cannot work, and a
// second change during a migration, cannot be acknowledged.
func mark(changes []Change, r Refusal, fields []provider.Field) []Change {
	f := fieldOf(fields, r.Field)
	decision := NeedsAcknowledgement
	if !f.Acknowledge || r.Rule == RuleDuringMigration || r.Rule == RuleLinks || r.Rule == RuleInterfaces {
		decision = Refused
		if f.Class != provider.Migration {
			f.Class = provider.Forbidden
		}
	}
	found := false
	for i, c := range changes {
		if !within(c.Field, r.Field) && !within(r.Field, c.Field) {
			continue
		}
		found = true
		if c.Decision == Safe || decision == Refused && c.Decision != Refused {
			changes[i].Decision, changes[i].Rule, changes[i].Message = decision, r.Rule, r.Message
			changes[i].Class, changes[i].Disruption = f.Class, f.Disruption
		}
	}
	if !found {
		changes = append(changes, Change{Field: r.Field, Old: r.Old, New: r.New, Decision: decision, Rule: r.Rule, Message: r.Message, Class: f.Class, Disruption: f.Disruption})
	}
	return changes
}

// within reports whether path equals above or is below it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// differences calls found for every value that differs between two trees of plain JSON. Lists of the same length are
// compared entry by entry; other lists, and values that only one tree has, are compared as a whole.
func differences(path string, old, updated any, found func(path string, old, updated any)) {
	switch o := old.(type) {
	case map[string]any:
		if n, ok := updated.(map[string]any); ok {
			for _, key := range keys(o, n) {
				differences(path+"."+key, o[key], n[key], found)
			}
			return
		}
	case []any:
		if n, ok := updated.([]any); ok && len(o) == len(n) {
			for i := range o {
				differences(fmt.Sprintf("%s[%d]", path, i), o[i], n[i], found)
			}
			return
		}
	}
	if !reflect.DeepEqual(old, updated) {
		found(path, old, updated)
	}
}

func keys(a, b map[string]any) []string {
	var all []string
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// decisionOf returns the most severe decision of changes; Safe for none.
func decisionOf(changes []Change) Decision {
	worst := Safe
	for _, c := range changes {
		if c.Decision == Refused || c.Decision == NeedsAcknowledgement && worst == Safe {
			worst = c.Decision
		}
	}
	return worst
}

// AcknowledgementPattern is a regular expression that matches the hashes that acknowledge a change.
const AcknowledgementPattern = "[0-9a-f]{32}"

// acknowledgement returns the hash of changes to one revision. The rollout of the change creates another revision, so
// that the hash can be used once, and for no other change.
func acknowledgement(revision int, changes []Change) string {
	type step struct {
		Field    string
		Old, New any
	}
	named := struct {
		Revision int
		Changes  []step
	}{Revision: revision}
	for _, c := range changes {
		named.Changes = append(named.Changes, step{c.Field, c.Old, c.New})
	}
	raw, err := json.Marshal(named)
	if err != nil {
		return "" // plain JSON always has one; without a hash nothing can be acknowledged
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// Differences returns the fields in which two specifications differ, without decisions.
func Differences(prev, next *operatorv1.NetworkSpec) []Change {
	var changes []Change
	differences("spec", plain(prev), plain(next), func(path string, old, updated any) {
		changes = append(changes, Change{Field: path, Old: old, New: updated})
	})
	return changes
}
