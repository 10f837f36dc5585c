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

// crdDelays returns the delays after a change of a CRD before discovery: a CRD is changed several times while it becomes
// established, and CRDs are created in groups. Its API becomes available some time after the CRD is established, without
// an event; so discovery is repeated while a controller waits for it.
func crdDelays() []time.Duration {
	return []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second, 10 * time.Second}
}

// starter starts controllers as soon as the APIs that they need are available. An unavailable API is no error: it may
// become available later, and the other controllers work until then.
type starter struct {
	*shared
	// pending are the controllers that do not run yet; Start sets them.
	pending []loop.Spec
	// add runs a runnable that a controller adds to its manager.
	add func(manager.Runnable) error
	// logged is the last logged list of waiting controllers, so that it is logged once.
	logged string
}

// Start starts the controllers whose APIs are available, and the others when their CRDs are installed. It returns when all
// controllers have ended: on the first error, or when the context ends. It chooses the API server for operands first.
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

// watchDefinitions starts controllers when their APIs become available, until the context ends.
func (s *starter) watchDefinitions(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	informer, err := s.manager.GetCache().GetInformer(ctx, definitions())
	if err != nil {
		return fmt.Errorf("watch CRDs: %w", err)
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
		return fmt.Errorf("watch CRDs: %w", err)
	}
	if err := s.startReady(); err != nil {
		return err
	}
	var looks []time.Duration
	if s.announced(ctx) {
		looks = crdDelays()
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
			looks = crdDelays()
			continue
		case <-next:
		}
		if err := s.rediscover(); err != nil {
			return err
		}
		if looks = looks[1:]; !s.announced(ctx) {
			looks = nil
		}
	}
}

// rediscover repeats discovery, starts the controllers whose APIs are available, and triggers those that run.
func (s *starter) rediscover() error {
	s.mapper.Reset()
	if err := s.startReady(); err != nil {
		return err
	}
	s.network.Fire()
	s.status.Fire()
	return nil
}

// announced reports whether there is a CRD of a kind that a controller waits for. It compares the name of the CRD, which
// contains the plural of the kind; some plurals have hyphens.
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

// startReady starts the controllers whose APIs are available.
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
	if names := strings.Join(kinds, ", "); names != s.logged {
		s.logged = names
		if names != "" {
			s.Log.Info("controllers wait for APIs", "controllers", names)
		}
	}
	return nil
}

// start starts a controller, with its own cache if it has one.
func (s *starter) start(l loop.Spec, mgr manager.Manager) error {
	if len(l.Owns) > 0 {
		var err error
		if mgr, err = withOwn(mgr, s.reach, l.Owns); err != nil {
			return err
		}
	}
	return l.Setup(mgr)
}

// lateManager is the manager for controllers that start while it runs. Adding to a manager that is stopping can deadlock:
// the manager waits for the starter, which waits for the manager (runnableGroup.Add holds the lock that its StopAndWait
// and its reconcile wait for). So nothing is added to it.
type lateManager struct {
	manager.Manager
	add func(manager.Runnable) error
}

// Add runs a runnable until the starter ends.
func (m lateManager) Add(r manager.Runnable) error { return m.add(r) }

// missing returns a kind that a controller needs and that is not available, or "".
func (s *starter) missing(l loop.Spec) (string, error) {
	i := slices.IndexFunc(l.Needs, func(gk schema.GroupKind) bool { return !s.operands.Serves(gk) })
	if i < 0 {
		return "", nil
	}
	// An unreachable API server is an error, unlike an unavailable API.
	if _, err := s.mapper.RESTMapping(l.Needs[i]); err != nil && !meta.IsNoMatchError(err) {
		return "", fmt.Errorf("read available APIs: %w", err)
	}
	return l.Needs[i].String(), nil
}
