package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// settleCRD is how long changes of CustomResourceDefinitions are collected: a definition is changed several times
// while it becomes established, and definitions come in groups.
const settleCRD = 100 * time.Millisecond

// starter starts loops as soon as the API server serves what they need. What it does not serve is never an error:
// it may come, and until then the rest works.
type starter struct {
	*shared
	pending []loop
}

// Start starts the loops that can be started, and the others when a CustomResourceDefinition appears.
func (s *starter) Start(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	informer, err := s.manager.GetCache().GetInformer(ctx, definitions())
	if err != nil {
		return fmt.Errorf("watch definitions of kinds: %w", err)
	}
	wake := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				wake()
			}
		},
		UpdateFunc: func(any, any) { wake() },
		DeleteFunc: func(any) { wake() },
	}); err != nil {
		return fmt.Errorf("watch definitions of kinds: %w", err)
	}
	for {
		if err := s.startReady(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(settleCRD):
		}
		s.mapper.Reset()
		s.network.Fire()
		s.status.Fire()
	}
}

// startReady starts the loops whose kinds are served.
func (s *starter) startReady() error {
	var waiting []loop
	for _, l := range s.pending {
		missing, err := s.missing(l)
		if err != nil {
			return err
		}
		if missing != "" {
			s.Log.Info("loop waits for a kind to be served", "loop", l.name, "kind", missing)
			waiting = append(waiting, l)
			continue
		}
		mgr := s.manager
		if l.secrets {
			mgr = s.withSecrets
		}
		if len(l.owns) > 0 {
			if mgr, err = withOwn(mgr, s.reach, l.owns); err != nil {
				return err
			}
		}
		if err := l.setup(mgr); err != nil {
			return err
		}
		s.Log.Debug("loop started", "loop", l.name)
	}
	s.pending = waiting
	return nil
}

// missing returns a kind that a loop needs and the API server does not serve, or nothing.
func (s *starter) missing(l loop) (string, error) {
	i := slices.IndexFunc(l.needs, func(gk schema.GroupKind) bool { return !s.operands.Serves(gk) })
	if i < 0 {
		return "", nil
	}
	// An API server that does not answer is another matter than one that says no.
	if _, err := s.mapper.RESTMapping(l.needs[i]); err != nil && !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("ask which kinds are served: %w", err)
	}
	return l.needs[i].String(), nil
}
