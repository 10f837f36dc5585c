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
	// maxPerNamespace is the maximum number of ConfigMaps per namespace that get certificates. With 256 KB each, they take 25 MB in etcd.
	maxPerNamespace = 100
	// limitCacheTime is how long the youngest eligible ConfigMap of a namespace is cached, so that thousands of ConfigMaps are not sorted
	// for each one.
	limitCacheTime = 10 * time.Second
)

// rank is the position of a ConfigMap in its namespace. Older ones come first. Of those created in the same second, those with certificates
// come first, so that a new one does not replace a written one.
type rank struct {
	created time.Time
	without int // 0 with certificates, 1 without
	name    string
}

func rankOf(m *metav1.PartialObjectMetadata) rank {
	p := rank{created: m.CreationTimestamp.Time, name: m.Name}
	if m.Annotations[hashAnnotation] == "" {
		p.without = 1
	}
	return p
}

func (p rank) compare(q rank) int {
	return cmp.Or(p.created.Compare(q.created), cmp.Compare(p.without, q.without), cmp.Compare(p.name, q.name))
}

// limits applies maxPerNamespace. The zero value is ready for use.
type limits struct {
	mu            sync.Mutex
	fullNamespace map[string]fullNamespace
}

// fullNamespace is a namespace with more than maxPerNamespace ConfigMaps.
type fullNamespace struct {
	last  rank // the youngest eligible one
	until time.Time
}

// within reports whether a ConfigMap is among the oldest of its namespace, which get certificates. Deletions take effect within
// limitCacheTime.
func (l *limits) within(ctx context.Context, from client.Reader, m *metav1.PartialObjectMetadata, now time.Time) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, found := l.fullNamespace[m.Namespace]
	if !found || !now.Before(known.until) {
		delete(l.fullNamespace, m.Namespace)
		list := targets()
		if err := from.List(ctx, list, client.InNamespace(m.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return false, fmt.Errorf("list ConfigMaps of namespace %s that request certificates: %w", m.Namespace, err)
		}
		if len(list.Items) <= maxPerNamespace {
			return true, nil
		}
		var ranks []rank
		for i := range list.Items {
			if o := &list.Items[i]; o.DeletionTimestamp == nil && !isSource(o) {
				ranks = append(ranks, rankOf(o))
			}
		}
		if len(ranks) <= maxPerNamespace {
			return true, nil
		}
		slices.SortFunc(ranks, rank.compare)
		known = fullNamespace{last: ranks[maxPerNamespace-1], until: now.Add(limitCacheTime)}
		if l.fullNamespace == nil {
			l.fullNamespace = map[string]fullNamespace{}
		}
		l.fullNamespace[m.Namespace] = known
	}
	return rankOf(m).compare(known.last) <= 0, nil
}

// isSource reports whether a ConfigMap is the source of the certificates.
func isSource(m *metav1.PartialObjectMetadata) bool {
	return m.Namespace == bundleNamespace && m.Name == bundleName
}
