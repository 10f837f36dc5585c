package node

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	// catchUpTime is how long a cache may lack what the API server has listed.
	catchUpTime = 6 * time.Second
	// catchUpInterval is how often the cache is read meanwhile.
	catchUpInterval = 200 * time.Millisecond
	// staleTimeout is the timeout of both lists and of the time between them.
	staleTimeout = 25 * time.Second
	// staleNames is how many objects of a kind are named.
	staleNames = 5
	// pageSize is how many objects a request lists.
	pageSize = 500
	// metadataOnly requests a list of PartialObjectMetadata.
	metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// watched is a kind that the agent watches.
type watched struct {
	resource string
	client   cache.Getter
	where    fields.Selector
	store    cache.Store
	// last is the time of the last list, event or bookmark, in nanoseconds since 1970.
	last atomic.Int64
	// open is the number of open watches: one, or none while it is renewed.
	open atomic.Int32
}

// received records that the API server has sent something.
func (w *watched) received() { w.last.Store(time.Now().UnixNano()) }

// silence returns the time since the last list, event or bookmark.
func (w *watched) silence() time.Duration { return time.Since(time.Unix(0, w.last.Load())) }

// counted returns a watch that records the time of its events, bookmarks included, and its end. It then calls closed.
func (w *watched) counted(inner watch.Interface, closed func()) watch.Interface {
	w.received()
	w.open.Add(1)
	events := make(chan watch.Event)
	outer := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer func() { w.open.Add(-1); closed() }()
		defer inner.Stop()
		for {
			select {
			case <-outer.StopChan():
				return
			case e, more := <-inner.ResultChan():
				if !more {
					return
				}
				w.received()
				select {
				case events <- e:
				case <-outer.StopChan():
					return
				}
			}
		}
	}()
	return outer
}

// version identifies one version of an object.
type version struct {
	uid     types.UID
	version string
}

// listing has the versions of the objects of a kind, by namespace and name, at a resource version.
type listing struct {
	at      string
	objects map[string]version
}

// live lists the metadata of all objects of the kind, in pages. The options of lists are the same in all versions of all kinds.
func (w *watched) live(ctx context.Context) (listing, error) {
	out := listing{objects: map[string]version{}}
	options := metav1.ListOptions{FieldSelector: w.where.String(), Limit: pageSize}
	for {
		data, err := w.client.Get().Resource(w.resource).SpecificallyVersionedParams(&options, scheme.ParameterCodec, corev1.SchemeGroupVersion).SetHeader("Accept", metadataOnly).Do(ctx).Raw()
		if err != nil {
			return listing{}, err
		}
		var page metav1.PartialObjectMetadataList
		if err := json.Unmarshal(data, &page); err != nil {
			return listing{}, fmt.Errorf("decode the metadata: %w", err)
		}
		if out.at == "" {
			out.at = page.ResourceVersion
		}
		for i := range page.Items {
			o := &page.Items[i]
			out.objects[cache.MetaObjectToName(o).String()] = version{o.UID, o.ResourceVersion}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return out, nil
		}
	}
}

// cached returns the versions of the objects in the cache.
func (w *watched) cached() map[string]version {
	out := map[string]version{}
	for _, object := range w.store.List() {
		if o, err := meta.Accessor(object); err == nil {
			out[cache.MetaObjectToName(o).String()] = version{o.GetUID(), o.GetResourceVersion()}
		}
	}
	return out
}

// stale returns the objects of the kind that the cache has not received within wait, each with what the cache has instead. It lists once if the cache is current.
func (w *watched) stale(ctx context.Context, wait time.Duration) ([]string, error) {
	first, err := w.live(ctx)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(wait); ; agent.Pause(ctx, catchUpInterval, nil) {
		switch late := staleObjects(first, first, w.cached()); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case len(late) == 0:
			return nil, nil
		case time.Now().Before(end):
			continue
		}
		cached := w.cached() // before the second list: what the cache lacks then may have been deleted since
		second, err := w.live(ctx)
		if err != nil {
			return nil, err
		}
		return staleObjects(first, second, cached), nil
	}
}

// staleObjects returns the objects, sorted by name, that the cache has in an older version than first, that it lacks although first and second have them, and that
// it has although neither has them. The cache was read between first and second, long enough after first.
func staleObjects(first, second listing, cached map[string]version) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(first.objects)) {
		listed := first.objects[name]
		now, exists := second.objects[name]
		switch existing, found := cached[name]; {
		case !found && exists && now.uid == listed.uid:
			all = append(all, name+" (missing)")
		case found && existing != listed && !newer(existing.version, listed.version):
			all = append(all, name+" (an older version)")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cached)) {
		_, before := first.objects[name]
		_, after := second.objects[name]
		if !before && !after && !newer(cached[name].version, first.at) {
			all = append(all, name+" (deleted)")
		}
	}
	return all
}

// newer compares resource versions of one API server, which are numbers that increase.
func newer(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x > y
}

// staleDifferences compares the caches of all watches with the API server. notes has the kinds that cannot be listed.
func (d *daemon) staleDifferences(ctx context.Context, wait time.Duration) (all []agentconfig.Difference, notes []string) {
	ctx, cancel := context.WithTimeout(ctx, staleTimeout)
	defer cancel()
	watches := d.watches()
	late, errs := make([][]string, len(watches)), make([]error, len(watches))
	var group errgroup.Group
	for i, w := range watches {
		group.Go(func() error {
			late[i], errs[i] = w.stale(ctx, wait)
			return nil
		})
	}
	_ = group.Wait() // each kind has its own result
	for i, w := range watches {
		switch {
		case errs[i] != nil:
			notes = append(notes, fmt.Sprintf("the cache of %s cannot be compared with the API server: %v", w.resource, errs[i]))
		case len(late[i]) > 0:
			all = append(all, staleDifference(w.resource, late[i]))
		}
	}
	return all, notes
}

// staleDifference names the first objects and counts the others.
func staleDifference(resource string, objects []string) agentconfig.Difference {
	names := strings.Join(objects[:min(len(objects), staleNames)], ", ")
	if rest := len(objects) - staleNames; rest > 0 {
		names += " " + phrase.More(rest)
	}
	return agentconfig.Difference{
		What:  fmt.Sprintf("the agent's cache lags behind the API: %s %s", resource, names),
		Cause: "the watch of the agent does not deliver events: its connection to the API server, or a proxy between them, is stalled", WayOut: "check the path from the node to the API server; " + wayOutAgent, Critical: true,
	}
}

// watches returns all watches of the agent.
func (d *daemon) watches() []*watched {
	all := slices.Clone(d.objects.watched)
	if d.unidler != nil {
		all = append(all, d.unidler.objects.watched...)
	}
	return all
}
