// Package preview says beforehand what the operator will do with a specification. It runs the operator's own stages on
// what is in the cluster, or on what a file says is applied, and changes nothing: the only requests that are not
// reads are server-side dry runs.
package preview

import (
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Verdict says what the operator will do with a specification.
type Verdict string

// The verdicts, from the mildest to the hardest. Those of single changes have the same names.
const (
	// Unchanged: the specification is the one that is applied.
	Unchanged Verdict = "unchanged"
	// Safe: it is applied.
	Safe = Verdict(pipeline.Safe)
	// NeedsAcknowledgement: it is applied once the change is acknowledged.
	NeedsAcknowledgement = Verdict(pipeline.NeedsAcknowledgement)
	// Refused: the change is not made; what is applied stays in effect.
	Refused = Verdict(pipeline.Refused)
	// Blocked: the operator would apply it, and the API server refuses objects that it needs, for example since a webhook
	// does not answer.
	Blocked Verdict = "blocked"
	// Invalid: the specification is wrong in itself.
	Invalid Verdict = "invalid"
)

// Result is a preview. Lists are never nil.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Errors are what is wrong with the specification, or with the change.
	Errors []offline.Problem `json:"errors"`
	// Filled is the specification with every default, as it will be recorded; nil if it is invalid.
	Filled *operatorv1.NetworkSpec `json:"filled"`
	// Changes are the fields that differ from what is applied.
	Changes []pipeline.Change `json:"changes"`
	// Objects are those that will be created, changed and deleted, in this order of doing. Those of a change that needs
	// an acknowledgement are reported as if it had it.
	Objects []Object `json:"objects"`
	// Blocked are the objects that the API server refuses, each with its error. None of them could be applied now.
	Blocked []string `json:"blocked,omitempty"`
	// Acknowledgement is the hash that acknowledges the change; empty if none is needed, or none helps. Acknowledged is
	// true if it was given.
	Acknowledgement string `json:"acknowledgement,omitempty"`
	Acknowledged    bool   `json:"acknowledged,omitempty"`
	// Notes are sentences about what could not be previewed, and further advice.
	Notes []string `json:"notes,omitempty"`

	// file is where the configuration was read.
	file string
}

// Object is what will be done with one object.
type Object struct {
	Action     plan.Verb `json:"action"`
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	// Diff is a unified diff of the YAML. It has no values of Secrets.
	Diff string `json:"diff"`
	// Reasons say why, in sentences.
	Reasons []string `json:"reasons,omitempty"`
}

// Malformed is the answer to a configuration that is not even well formed.
func Malformed(problems []offline.Problem) Result {
	return Result{Verdict: Invalid, Errors: problems, Changes: []pipeline.Change{}, Objects: []Object{}}
}

// Applies reports whether the operator will apply the specification as it is.
func (a Result) Applies() bool {
	return a.Verdict == Unchanged || a.Verdict == Safe || a.Verdict == NeedsAcknowledgement && a.Acknowledged
}
