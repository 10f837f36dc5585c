package cabundleinjection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// perNamespace is how many ConfigMaps of a namespace get certificates: with a quarter of a megabyte each, they take 25 MB of the API
	// server's etcd, for labels on empty ConfigMaps.
	perNamespace = 100
	// limitKept is how long the youngest ConfigMap that gets certificates is remembered where others do not, so that thousands of them are
	// not sorted for each.
	limitKept = 10 * time.Second
)

// place is where a ConfigMap is in the order of its namespace: the oldest comes first. Of those that were created in one second, which is
// what the API server records, those that have certificates come first: a new one must not take the place of one that was written.
type place struct {
	created time.Time
	without int // 0 with certificates, 1 without
	name    string
}

func placeOf(m *metav1.PartialObjectMetadata) place {
	p := place{created: m.CreationTimestamp.Time, name: m.Name}
	if m.Annotations[hashAnnotation] == "" {
		p.without = 1
	}
	return p
}

func (p place) compare(q place) int {
	return cmp.Or(p.created.Compare(q.created), cmp.Compare(p.without, q.without), cmp.Compare(p.name, q.name))
}

// limits knows which ConfigMaps are within the limit of their namespace. The zero value is ready for use.
type limits struct {
	mu   sync.Mutex
	full map[string]full
}

// full is a namespace with more ConfigMaps than get certificates.
type full struct {
	last  place // the youngest that does
	until time.Time
}

// within reports whether a ConfigMap is among those of its namespace that get certificates: the oldest, so that more of them change nothing
// for those that have them. Deletions take effect within limitKept.
func (l *limits) within(ctx context.Context, from client.Reader, m *metav1.PartialObjectMetadata, now time.Time) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, found := l.full[m.Namespace]
	if !found || !now.Before(known.until) {
		delete(l.full, m.Namespace)
		list := targets()
		if err := from.List(ctx, list, client.InNamespace(m.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("list ConfigMaps of namespace %s that ask for certificates: %w", m.Namespace, err)
		}
		if len(list.Items) <= perNamespace {
			return true, nil
		}
		var places []place
		for i := range list.Items {
			if o := &list.Items[i]; o.DeletionTimestamp == nil && !isSource(o) {
				places = append(places, placeOf(o))
			}
		}
		if len(places) <= perNamespace {
			return true, nil
		}
		slices.SortFunc(places, place.compare)
		known = full{last: places[perNamespace-1], until: now.Add(limitKept)}
		if l.full == nil {
			l.full = map[string]full{}
		}
		l.full[m.Namespace] = known
	}
	return placeOf(m).compare(known.last) <= 0, nil
}

// isSource reports whether a ConfigMap is the one that the certificates come from.
func isSource(m *metav1.PartialObjectMetadata) bool {
	return m.Namespace == bundleNamespace && m.Name == bundleName
}
