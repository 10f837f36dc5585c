package pipeline

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// part is the provider or a component in Bootstrap and Render. Once it has failed, it is not changed.
type part struct {
	name     string
	observe  func(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error)
	renderer provider.Renderer
	err      error
}

// bootstrap calls Observe of the provider and of every enabled component. It never fails itself: errors are
// kept in the parts, so that one part does not block the others.
func bootstrap(ctx context.Context, s *state) error {
	spec := s.result.Spec
	if !standIn(s.network) {
		s.parts = append(s.parts, &part{name: string(spec.DefaultNetwork.Type), observe: s.network.Observe})
	}
	for _, c := range s.registry.Components {
		if c.Enabled(spec) {
			s.parts = append(s.parts, &part{name: c.Name(), observe: c.Observe})
		}
	}
	for _, p := range s.parts {
		err := s.guard(Bootstrap, p.name, func() (err error) {
			p.renderer, err = p.observe(ctx, s.in.Reader, spec)
			return err
		})
		if err == nil && p.renderer == nil {
			err = errors.New("bug in the operator, please report it: it observed no error and nothing to render")
		}
		if err != nil {
			p.err = &Error{Stage: Bootstrap, Component: p.name, Err: err}
		}
	}
	return nil
}

// failed joins the errors of the parts that failed.
func (s *state) failed() error {
	var errs []error
	for _, p := range s.parts {
		if p.err != nil {
			errs = append(errs, p.err)
		}
	}
	return errors.Join(errs...)
}
