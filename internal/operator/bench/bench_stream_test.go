package bench

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stream reports every version of one object, starting with the current one.
type stream struct {
	watch watch.Interface
	// now is the object as it was when the stream began.
	now *unstructured.Unstructured
}

// follow begins a stream. It ends with the benchmark, or when stop is called.
func (c *cluster) watch(b *testing.B, kind schema.GroupVersionKind, key client.ObjectKey) *stream {
	b.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	one := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}}
	if err := c.live.List(b.Context(), list, one...); err != nil {
		b.Fatal(err)
	}
	if len(list.Items) != 1 {
		b.Fatalf("there is no %s %s", kind.Kind, key)
	}
	from := from(list.GetResourceVersion())
	w, err := c.live.Watch(b.Context(), list, append(one, from)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	return &stream{watch: w, now: &list.Items[0]}
}

// from is the version after which a watch begins.
type from string

func (f from) ApplyToList(o *client.ListOptions) {
	if o.Raw == nil {
		o.Raw = o.AsListOptions()
	}
	o.Raw.ResourceVersion = string(f)
}

// until waits for a version of the object, and returns when it came.
func (s *stream) until(b *testing.B, what string, wanted func(*unstructured.Unstructured) bool) time.Time {
	b.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	for {
		select {
		case event, open := <-s.watch.ResultChan():
			if !open {
				b.Fatalf("the watch ended before this: %s", what)
			}
			o, ok := event.Object.(*unstructured.Unstructured)
			if ok && event.Type != watch.Deleted && wanted(o) {
				return time.Now()
			}
		case <-deadline.C:
			b.Fatalf("not within five minutes: %s", what)
		}
	}
}

func (s *stream) stop() { s.watch.Stop() }
