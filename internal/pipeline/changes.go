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

// Verdict says what becomes of a change.
type Verdict string

// The verdicts, from the mildest to the hardest.
const (
	// Safe: it is made.
	Safe Verdict = "safe"
	// NeedsAcknowledgement: it is made once it is acknowledged.
	NeedsAcknowledgement Verdict = "needs-acknowledgement"
	// Refused: it is not made.
	Refused Verdict = "refused"
)

// AcknowledgeAnnotation is the annotation of the Network with which a disruptive change is acknowledged. Its value is
// the hash of the change: Result.Acknowledgement.
const AcknowledgeAnnotation = "networkoperator.openshift.io/acknowledge"

// Change is one field whose value is not the one that is applied.
type Change struct {
	// Field is the path of the field, for example spec.clusterNetwork[0].cidr.
	Field string `json:"field"`
	// Old is the value that is applied, New the one that is wanted, as encoding/json makes them of any JSON; nil is none.
	Old any `json:"old"`
	New any `json:"new"`
	// Verdict is what becomes of the change.
	Verdict Verdict `json:"verdict"`
	// Rule is the rule that the change breaks, and Message says what is wrong and what to do. Both are empty for what
	// is safe, but that Message may then say what a user will notice.
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message,omitempty"`
	// Class says how the change comes into force, Disruption what users of the network notice of it at worst. What is
	// refused disrupts nothing: they then say what it would mean.
	Class      provider.Class      `json:"class"`
	Disruption provider.Disruption `json:"disruption"`
}

// changesOf returns all changes between two filled specifications, in the order of the specification's fields, with
// their refusals.
func changesOf(prev, next *operatorv1.NetworkSpec, fields []provider.Field, refused Refusals) []Change {
	var changes []Change
	differences("spec", plain(prev), plain(next), func(path string, old, updated any) {
		f := allowed(fieldOf(fields, path))
		changes = append(changes, Change{Field: path, Old: old, New: updated, Verdict: Safe, Message: f.Reason, Class: f.Class, Disruption: f.Disruption})
	})
	for _, r := range refused {
		changes = mark(changes, r, fields)
	}
	return changes
}

// allowed is what a change means that no rule refuses. Of a field that cannot be changed, it is the exception: a pool
// that grows, a second IP family, another spelling.
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

// mark gives a refusal to the changes that it is about, or makes one of it. No acknowledgement lifts what cannot work, nor
// that one thing changes at a time during a migration.
func mark(changes []Change, r Refusal, fields []provider.Field) []Change {
	f := fieldOf(fields, r.Field)
	verdict := NeedsAcknowledgement
	if !f.Acknowledge || r.Rule == RuleDuringMigration || r.Rule == RuleLinks || r.Rule == RuleInterfaces {
		verdict = Refused
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
		if c.Verdict == Safe || verdict == Refused && c.Verdict != Refused {
			changes[i].Verdict, changes[i].Rule, changes[i].Message = verdict, r.Rule, r.Message
			changes[i].Class, changes[i].Disruption = f.Class, f.Disruption
		}
	}
	if !found {
		changes = append(changes, Change{Field: r.Field, Old: r.Old, New: r.New, Verdict: verdict, Rule: r.Rule, Message: r.Message, Class: f.Class, Disruption: f.Disruption})
	}
	return changes
}

// within reports whether a path is another one, or below it.
func within(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// differences calls found for every value that differs between two trees of plain JSON. Lists of the same length are
// compared entry by entry, others as one value, and so is what one of the trees does not have.
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

// verdictOf is the hardest verdict of some changes; Safe for none.
func verdictOf(changes []Change) Verdict {
	hardest := Safe
	for _, c := range changes {
		if c.Verdict == Refused || c.Verdict == NeedsAcknowledgement && hardest == Safe {
			hardest = c.Verdict
		}
	}
	return hardest
}

// AcknowledgementPattern is a regular expression for every hash that can acknowledge a change.
const AcknowledgementPattern = "[0-9a-f]{32}"

// acknowledgement is the hash that names exactly some changes of exactly one revision. So it is used up by the
// rollout of the change, since that is another revision, and it is worth nothing for any other change.
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

// Differences returns the fields in which two specifications differ, without any verdict.
func Differences(prev, next *operatorv1.NetworkSpec) []Change {
	var changes []Change
	differences("spec", plain(prev), plain(next), func(path string, old, updated any) {
		changes = append(changes, Change{Field: path, Old: old, New: updated})
	})
	return changes
}
