package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// Spec returns the specification of a Network or NetworkConfig, and the errors in its metadata or conversion. The
// specification is nil if a NetworkConfig cannot be converted.
func (in Input) Spec() (*operatorv1.NetworkSpec, []Problem) {
	if in.Network != nil {
		return in.Network.Spec.DeepCopy(), in.nameProblems(in.Network.Name, operatorv1.NetworkName)
	}
	problems := in.nameProblems(in.Config.Name, networkoperatorv1.NetworkConfigName)
	spec, errs := networkconfig.Convert(&in.Config.Spec)
	for _, e := range errs {
		problems = append(problems, in.fieldProblem(e))
	}
	if len(errs) > 0 {
		return nil, problems
	}
	return spec, problems
}

func (in Input) nameProblems(name, want string) []Problem {
	if name == want {
		return nil
	}
	return []Problem{{File: in.File, Field: "metadata.name", Value: name, Rule: "name",
		Message: fmt.Sprintf("must be %q: there is one network in a cluster", want)}}
}

func (in Input) fieldProblem(e *field.Error) Problem {
	rule := e.Origin
	if rule == "" {
		rule = "invalid"
	}
	return Problem{File: in.File, Field: e.Field, Value: Text(e.BadValue), Rule: rule, Message: e.Detail}
}

// shortForm translates paths of a Network into those of the NetworkConfig from which it was converted.
var shortForm = strings.NewReplacer(
	"spec.clusterNetwork[", "spec.clusterNetworks[",
	"].hostPrefix", "].hostSubnetLength",
	"spec.serviceNetwork[0]", "spec.serviceNetwork",
)

// Problems converts the error of a pipeline run on this configuration into problems. ok is false if the configuration
// is not the cause of the error.
func (in Input) Problems(err error) (problems []Problem, ok bool) {
	refusals := pipeline.RefusalsOf(err)
	for _, r := range refusals {
		p := Problem{File: in.File, Field: r.Field, Value: Text(r.New), Rule: r.Rule, Message: r.Message}
		if in.Config != nil {
			p.Field = shortForm.Replace(r.Field)
		}
		problems = append(problems, p)
	}
	return problems, len(refusals) > 0
}

// Validate returns all errors in a configuration, without comparing it with an applied one, and the fields that it omits. known is the
// input of the pipeline without the configuration: what is known of a cluster.
func (in Input) Validate(ctx context.Context, p pipeline.Pipeline, known pipeline.Input) ([]Problem, []pipeline.Detected, error) {
	if in.Pod != nil {
		return in.podProblems(), nil, nil
	}
	if in.Attachment != nil {
		return in.attachmentProblems(), nil, nil
	}
	if in.Policy != nil {
		return in.policyProblems(), nil, nil
	}
	spec, problems := in.Spec()
	if spec == nil {
		return in.Complete(problems), nil, nil
	}
	known.Desired = spec
	res, err := p.Run(ctx, known, pipeline.Validate)
	refused, ok := in.Problems(err)
	if err != nil && !ok {
		return nil, nil, err
	}
	return in.Complete(append(problems, refused...)), res.Detected, nil
}

// NoCluster returns the input of the pipeline if nothing is known of a cluster but its applied configuration, which may be nil.
func NoCluster(applied *operatorv1.NetworkSpec) pipeline.Input {
	return pipeline.Input{Applied: applied, Cluster: facts.Cluster{Declared: facts.NoCluster()}}
}

// Advice returns values of a configuration that are valid but probably unintended, including annotations of a Network without effect.
func (in Input) Advice(ctx context.Context, p pipeline.Pipeline) []Problem {
	if in.ofUser() {
		return nil
	}
	spec, _ := in.Spec()
	if spec == nil {
		return nil
	}
	var without []Problem
	if in.Network != nil {
		for _, message := range pipeline.AnnotationProblems(in.Network.Annotations) {
			without = append(without, Problem{File: in.File, Field: "metadata.annotations", Rule: "annotation", Message: message})
		}
	}
	res, _ := p.Run(ctx, pipeline.Input{Desired: spec}, pipeline.Validate) // Validate returns the error
	advice, _ := in.Problems(res.Advice)
	return append(without, advice...)
}

// Check returns all errors in the result of Configuration, sorted: form, which has those of decoding, and those of Validate if it could
// be decoded.
func (in Input) Check(ctx context.Context, p pipeline.Pipeline, form []Problem, known pipeline.Input) ([]Problem, error) {
	problems := slices.Clone(form)
	if in.Network != nil || in.Config != nil {
		invalid, _, err := in.Validate(ctx, p, known)
		if err != nil {
			return nil, err
		}
		problems = append(problems, invalid...)
	}
	SortProblems(problems)
	return problems, nil
}

// Applied reads an applied specification: the JSON of the record, the whole ConfigMap of the record, or the applied
// object. The number of its revision is 0 if the file does not contain it.
func (f Files) Applied(name string) (spec *operatorv1.NetworkSpec, revision int, err error) {
	data, err := f.ReadAll(name)
	if err != nil {
		return nil, 0, err
	}
	var record corev1.ConfigMap
	if yaml.Unmarshal(data, &record) == nil && record.Kind == "ConfigMap" {
		return appliedOf(name, record.Data)
	}
	inputs, problems, err := decode(name, data, false)
	if err == nil && len(problems) == 0 && len(inputs) == 1 {
		if spec, wrong := inputs[0].Spec(); len(wrong) == 0 {
			return spec, 0, nil
		}
	}
	spec = &operatorv1.NetworkSpec{}
	if jsonErr := json.Unmarshal(data, spec); jsonErr != nil || len(spec.ClusterNetwork) == 0 {
		return nil, 0, fmt.Errorf("%w: %s is neither the JSON of an applied configuration, nor ConfigMap %s, nor a Network or NetworkConfig that is valid (%w)",
			ErrUnusable, name, applied.ConfigMapName, errors.Join(jsonErr, err))
	}
	return spec, 0, nil
}

// appliedOf returns the active specification of a record and its revision.
func appliedOf(name string, data map[string]string) (*operatorv1.NetworkSpec, int, error) {
	record, err := applied.Decode(data)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %s: %w", ErrUnusable, name, err)
	}
	return record.Baseline(), record.BaselineNumber(), nil
}

// Text formats a value: a string unchanged, others as JSON, nil as "".
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil || string(raw) == "null" {
		return ""
	}
	return string(raw)
}
