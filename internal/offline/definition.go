package offline

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/crds"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/crdcheck"
)

// definitions returns the checkers of the CRDs of configurations, by API group.
var definitions = sync.OnceValues(func() (map[string]*crdcheck.Checker, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	checkers := map[string]*crdcheck.Checker{}
	for _, d := range all {
		for group, name := range map[string]string{operatorv1.GroupVersion.Group: "Network", networkoperatorv1.GroupVersion.Group: "NetworkConfig"} {
			if d.Spec.Group != group || d.Spec.Names.Kind != name {
				continue
			}
			if checkers[group], err = crdcheck.New(d, "v1"); err != nil {
				return nil, err
			}
		}
	}
	return checkers, nil
})

// checkDefinition validates an object against the CRD of a group. form has the errors that affect decoding (unknown fields, values of the
// wrong type), other all others.
func checkDefinition(file, group string, object map[string]any) (form, other []Problem, err error) {
	checkers, err := definitions()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range checkers[group].CheckObject(context.Background(), object) {
		p := definitionProblem(file, e)
		if p.Rule == crdcheck.RuleUnknownField || p.Rule == crdcheck.RuleType {
			form = append(form, p)
		} else {
			other = append(other, p)
		}
	}
	return form, other, nil
}

func definitionProblem(file string, e *field.Error) Problem {
	p := Problem{File: file, Field: e.Field, Rule: e.Origin, Message: crdcheck.Plain(e)}
	switch {
	case e.Type == field.ErrorTypeTypeInvalid && p.Rule == "":
		p.Rule = crdcheck.RuleType
	case p.Rule == "":
		p.Rule = crdcheck.RuleSchema
	}
	if p.Field == "<nil>" {
		p.Field = ""
	}
	switch e.BadValue.(type) {
	case string, int64, float64, bool:
		// The error of a text that is too long does not contain its value.
		if p.Rule != crdcheck.RuleType && e.Type != field.ErrorTypeForbidden && e.Type != field.ErrorTypeTooLong {
			p.Value = Text(e.BadValue)
		}
	}
	// The message of a rule of the whole specification names its fields.
	if named := namedPath.FindString(p.Message); named != "" && strings.HasPrefix(p.Message, named) && (p.Field == "" || below(named, p.Field)) {
		p.Field, p.Message = named, strings.TrimLeft(strings.TrimPrefix(p.Message, named), ": ")
	}
	return p
}

// namedPath matches a path in a sentence.
var namedPath = regexp.MustCompile(`\b(?:spec|metadata)(?:\.[A-Za-z]+|\[[^\]]*\])+`)

// Complete adds the problems that only the CRD reports to those of the operator's own rules. If both concern the same field, it
// keeps only that of the operator's rule.
func (in Input) Complete(own []Problem) []Problem {
	all := slices.Clone(own)
	for _, p := range in.definition {
		about := append(namedPath.FindAllString(p.Message, -1), p.Field)
		if !slices.ContainsFunc(own, func(o Problem) bool {
			return slices.ContainsFunc(about, func(path string) bool { return below(o.Field, path) || below(path, o.Field) })
		}) {
			all = append(all, p)
		}
	}
	return all
}

// below reports whether path equals root or is below it.
func below(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (root == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

// twice returns a problem for each duplicate configuration: a cluster has one of each kind.
func twice(inputs []Input) []Problem {
	var problems []Problem
	for i, in := range inputs {
		first := slices.IndexFunc(inputs[:i], func(o Input) bool { return !o.ofUser() && (o.Network != nil) == (in.Network != nil) })
		if first >= 0 && !in.ofUser() {
			problems = append(problems, Problem{File: in.File, Rule: "duplicate-object",
				Message: fmt.Sprintf("%s is defined twice, in %s and in %s; a cluster has one, so remove one of them", in.Name(), inputs[first].place(), in.place())})
		}
	}
	return problems
}

// ofUser reports whether the object is one of users, of which a cluster has many.
func (in Input) ofUser() bool { return in.Pod != nil || in.Attachment != nil || in.Policy != nil }

// Name returns the kind and the name of the object.
func (in Input) Name() string {
	switch {
	case in.Network != nil:
		return "Network/" + in.Network.Name
	case in.Pod != nil:
		return "Pod/" + cmp.Or(in.Pod.Name, in.Pod.GenerateName)
	case in.Attachment != nil:
		return "NetworkAttachmentDefinition/" + in.Attachment.Name
	case in.Policy != nil:
		return "MultiNetworkPolicy/" + in.Policy.GetName()
	}
	return "NetworkConfig/" + in.Config.Name
}

// place returns the file and the document of an input.
func (in Input) place() string { return fmt.Sprintf("%s, document %d", in.File, in.document) }
