package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cluster-network-operator/cno/internal/loop"
)

// settleCRD is how long changes of CustomResourceDefinitions are collected: a definition is changed several times
// while it becomes established, and definitions come in groups. A kind is served some time after its definition says so,
// and nothing reports that; so it is looked again as long as a loop waits for one.
func settleCRD() []time.Duration {
	return []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 10 * time.Second}
}

// starter starts loops as soon as the API server serves what they need. What it does not serve is never an error:
// it may come, and until then the rest works.
type starter struct {
	*shared
	// pending are the loops that do not run yet; Start makes them.
	pending []loop.Spec
	// add runs what a loop adds to its manager.
	add func(manager.Runnable) error
	// told is what the log says of loops that wait, so that it says it once.
	told string
}

// Start starts the loops that can be started, and the others when a CustomResourceDefinition appears. It returns when all
// loops have ended: on the first error, or when the context ends. Operands use the API server that is chosen now.
func (s *starter) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	s.add = func(r manager.Runnable) error {
		group.Go(func() error { return r.Start(ctx) })
		return nil
	}
	if s.ChooseAPIServer != nil {
		s.Facts.APIServer = s.ChooseAPIServer(ctx)
		if At(s.Config, s.Facts.APIServer).Host != s.Config.Host {
			watch := newAddressWatch(s.Config, s.Facts.APIServer, s.end, s.Log.With("controller", "apiserver"))
			group.Go(func() error { return watch.Start(ctx) })
		}
	}
	s.pending = loops(s.shared)
	group.Go(func() error { return s.watchDefinitions(ctx) })
	return group.Wait()
}

// watchDefinitions starts the loops that can be started, until the context ends.
func (s *starter) watchDefinitions(ctx context.Context) error {
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
	if err := s.startReady(); err != nil {
		return err
	}
	var looks []time.Duration
	if s.announced(ctx) {
		looks = settleCRD()
	}
	for {
		var next <-chan time.Time
		if len(looks) > 0 {
			next = time.After(looks[0])
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			looks = settleCRD()
			continue
		case <-next:
		}
		if err := s.lookAgain(); err != nil {
			return err
		}
		if looks = looks[1:]; !s.announced(ctx) {
			looks = nil
		}
	}
}

// lookAgain asks again which kinds are served, starts what can be, and has the loops look at what has come.
func (s *starter) lookAgain() error {
	s.mapper.Reset()
	if err := s.startReady(); err != nil {
		return err
	}
	s.network.Fire()
	s.status.Fire()
	return nil
}

// announced reports whether there is a definition of a kind that a loop waits for. A definition is found by its name, which
// has the kind's plural in it, and some plurals have hyphens.
func (s *starter) announced(ctx context.Context) bool {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(definitions().GroupVersionKind())
	if err := s.manager.GetCache().List(ctx, list); err != nil {
		return false
	}
	for _, l := range s.pending {
		for _, gk := range l.Needs {
			resource, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
			if !s.operands.Serves(gk) && slices.ContainsFunc(list.Items, func(o metav1.PartialObjectMetadata) bool {
				plural, group, _ := strings.Cut(o.Name, ".")
				return group == gk.Group && strings.ReplaceAll(plural, "-", "") == resource.Resource
			}) {
				return true
			}
		}
	}
	return false
}

// startReady starts the loops whose kinds are served.
func (s *starter) startReady() error {
	var waiting []loop.Spec
	var kinds []string
	for _, l := range s.pending {
		missing, err := s.missing(l)
		if err != nil {
			return err
		}
		if missing != "" {
			waiting, kinds = append(waiting, l), append(kinds, l.Name+" for "+missing)
			continue
		}
		mgr := lateManager{Manager: s.manager, add: s.add}
		if l.Secrets {
			mgr.Manager = s.withSecrets
		}
		if err := s.start(l, mgr); err != nil {
			return err
		}
		s.Log.Debug("controller started", "controller", l.Name)
	}
	s.pending = waiting
	if told := strings.Join(kinds, ", "); told != s.told {
		s.told = told
		if told != "" {
			s.Log.Info("controllers wait for kinds to be served", "controllers", told)
		}
	}
	return nil
}

// start starts a loop, with a cache of its own if it has one.
func (s *starter) start(l loop.Spec, mgr manager.Manager) error {
	if len(l.Owns) > 0 {
		var err error
		if mgr, err = withOwn(mgr, s.reach, l.Owns); err != nil {
			return err
		}
	}
	return l.Setup(mgr)
}

// lateManager is the manager for loops that start while it runs, maybe for a moment only. Adding to a manager that is
// stopping can block for ever, and with it the stop: the manager waits for the starter, which waits for the manager
// (runnableGroup.Add holds the lock that its StopAndWait and its reconcile wait for). So nothing is added to it.
type lateManager struct {
	manager.Manager
	add func(manager.Runnable) error
}

// Add runs a runnable until the starter ends.
func (m lateManager) Add(r manager.Runnable) error { return m.add(r) }

// missing returns a kind that a loop needs and the API server does not serve, or nothing.
func (s *starter) missing(l loop.Spec) (string, error) {
	i := slices.IndexFunc(l.Needs, func(gk schema.GroupKind) bool { return !s.operands.Serves(gk) })
	if i < 0 {
		return "", nil
	}
	// An API server that does not answer is another matter than one that says no.
	if _, err := s.mapper.RESTMapping(l.Needs[i]); err != nil && !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("ask which kinds are served: %w", err)
	}
	return l.Needs[i].String(), nil
}
