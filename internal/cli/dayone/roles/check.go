package roles

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/crds"
	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/crdcheck"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// place is an object within a file.
type place struct {
	path   string
	object []byte
	// first is the line on which the object begins; 0 if it has no lines of its own.
	first int
	lines func() crdcheck.Lines
}

func newPlace(path string, object []byte, first int) place {
	return place{path, object, first, sync.OnceValue(func() crdcheck.Lines { return crdcheck.ReadLines(object) })}
}

// problem is an error about a field, with its line.
func (p place) problem(err *field.Error) nmstate.Problem {
	return nmstate.Problem{File: p.path, Line: p.line(err.Field), Path: err.Field, Message: err.ErrorBody()}
}

// line returns the line of a field in the file; 0 if it has none.
func (p place) line(field string) int {
	if p.first == 0 {
		return 0
	}
	line := p.lines().Of(field)
	if line == 0 {
		return 0
	}
	return p.first - 1 + line
}

// check checks a HostNetworkConfig against its CRD, with the same errors as the API server.
func (p place) check() nmstate.Problems {
	checker, err := hostNetworkConfigs()
	if err != nil {
		return nmstate.Problems{{File: p.path, Message: err.Error()}}
	}
	errs, err := checker.Check(context.Background(), p.object)
	if err != nil {
		return nmstate.Problems{{File: p.path, Message: err.Error()}}
	}
	var problems nmstate.Problems
	for _, e := range errs {
		problems = append(problems, p.problem(e))
	}
	return problems
}

var hostNetworkConfigs = sync.OnceValues(func() (*crdcheck.Checker, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	for _, crd := range all {
		if crd.Spec.Names.Kind == "HostNetworkConfig" {
			return crdcheck.New(crd, networkv1.GroupVersion.Version)
		}
	}
	return nil, errors.New("the CRD of HostNetworkConfig is not part of this binary")
})
