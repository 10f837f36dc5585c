package network

import (
	"context"
	"maps"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// tracker is a client that remembers the versions that it has written, so that stale cache entries are detected.
type tracker struct {
	apply.Client

	mu      sync.Mutex
	written map[manifest.Key]uint64
}

func newTracker(c apply.Client) *tracker {
	return &tracker{Client: c, written: map[manifest.Key]uint64{}}
}

// Apply applies an object and remembers its version.
func (t *tracker) Apply(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := t.Client.Apply(ctx, obj)
	if err == nil {
		t.mu.Lock()
		t.written[manifest.KeyOf(live)] = version(live.GetResourceVersion())
		t.mu.Unlock()
	}
	return live, err
}

// Delete deletes an object and forgets it.
func (t *tracker) Delete(ctx context.Context, ref apply.Ref, uid types.UID, propagation metav1.DeletionPropagation) error {
	t.forget(manifest.Key{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name})
	return t.Client.Delete(ctx, ref, uid, propagation)
}

// newest returns the version of an object that was written last; 0 if none.
func (t *tracker) newest(key manifest.Key) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written[key]
}

func (t *tracker) forget(key manifest.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.written, key)
}

// pending returns the written versions by object.
func (t *tracker) pending() map[manifest.Key]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.written)
}

// version parses a resource version, which is an increasing number. It returns 0 if there is none.
func version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
