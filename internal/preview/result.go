// Package preview previews the effect of a specification. It runs the operator's own stages on the state of the cluster, or
// on an applied specification from a file, and changes nothing: the only requests that are not reads are server-side dry
// runs.
package preview

import (
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Decision is the operator's decision about a specification.
type Decision string

// The decisions, from the least to the most severe. Those of single changes have the same names.
const (
	// Unchanged means that the specification equals the applied one.
	Unchanged Decision = "unchanged"
	// Safe means that it will be applied.
	Safe = Decision(pipeline.Safe)
	// NeedsAcknowledgement means that it will be applied once the change is acknowledged.
	NeedsAcknowledgement = Decision(pipeline.NeedsAcknowledgement)
	// Refused means that the change is refused; the applied specification stays active.
	Refused = Decision(pipeline.Refused)
	// Blocked means that the operator would apply it, but the API server refuses objects, for example because a webhook
	// is unreachable.
	Blocked Decision = "blocked"
	// Invalid means that the specification itself is invalid.
	Invalid Decision = "invalid"
)

// Result is a preview. Lists are never nil.
type Result struct {
	Decision Decision `json:"decision"`
	// Errors are the errors in the specification or in the change.
	Errors []offline.Problem `json:"errors"`
	// Filled is the specification with every default, as it would be recorded; nil if it is invalid.
	Filled *operatorv1.NetworkSpec `json:"filled"`
	// Detected are the fields that the specification omits, each with its value and the source of it.
	Detected []pipeline.Detected `json:"detected,omitempty"`
	// Changes are the fields that differ from what is applied.
	Changes []pipeline.Change `json:"changes"`
	// Objects are those that would be created, changed and deleted, in the order of these actions. Those of a change that
	// needs an acknowledgement are reported as if it were acknowledged.
	Objects []Object `json:"objects"`
	// Blocked are the objects that the API server refuses, each with its error.
	Blocked []string `json:"blocked,omitempty"`
	// Acknowledgement is the hash that acknowledges the change; empty if the change is safe or cannot be acknowledged.
	// Acknowledged is true if the hash was given.
	Acknowledgement string `json:"acknowledgement,omitempty"`
	Acknowledged    bool   `json:"acknowledged,omitempty"`
	// Notes are sentences with limitations of the preview and further advice.
	Notes []string `json:"notes,omitempty"`

	// file is the file of the configuration.
	file string
}

// Object is the action on one object.
type Object struct {
	Action     plan.Verb `json:"action"`
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	// Diff is a unified diff of the YAML. It has no values of Secrets.
	Diff string `json:"diff"`
	// Reasons are the reasons of the action, as sentences.
	Reasons []string `json:"reasons,omitempty"`
}

// Malformed returns the result for a configuration that cannot be decoded.
func Malformed(problems []offline.Problem) Result {
	return Result{Decision: Invalid, Errors: problems, Changes: []pipeline.Change{}, Objects: []Object{}}
}

// Applies reports whether the operator will apply the specification without further action of the user.
func (a Result) Applies() bool {
	return a.Decision == Unchanged || a.Decision == Safe || a.Decision == NeedsAcknowledgement && a.Acknowledged
}
