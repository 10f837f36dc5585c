package node

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestStaleObjects(t *testing.T) {
	at := func(version string, objects map[string]version) listing { return listing{version, objects} }
	type versions = map[string]version
	for _, tt := range []struct {
		reason        string
		first, second listing
		cached        versions
		want          []string
	}{
		{"a current cache", at("9", versions{"a/b": {"1", "5"}}), at("9", versions{"a/b": {"1", "5"}}), versions{"a/b": {"1", "5"}}, nil},
		{"the cache was updated after the first list", at("9", versions{"a/b": {"1", "5"}}), at("12", versions{"a/b": {"1", "11"}}), versions{"a/b": {"1", "10"}}, nil},
		{"versions are numbers, not strings", at("10", versions{"a/b": {"1", "10"}}), at("10", versions{"a/b": {"1", "10"}}), versions{"a/b": {"1", "9"}}, []string{"a/b (an older version)"}},
		{"changed in both lists, old in the cache", at("9", versions{"a/b": {"1", "5"}}), at("12", versions{"a/b": {"1", "11"}}), versions{"a/b": {"1", "4"}}, []string{"a/b (an older version)"}},
		{"the cache has missed a deletion and a creation", at("9", versions{"b": {"2", "8"}}), at("9", versions{"b": {"2", "8"}}), versions{"b": {"1", "4"}}, []string{"b (an older version)"}},
		{"not in the cache", at("9", versions{"b": {"1", "5"}}), at("9", versions{"b": {"1", "5"}}), versions{}, []string{"b (missing)"}},
		{"deleted after the first list", at("9", versions{"b": {"1", "5"}}), at("12", versions{}), versions{}, nil},
		{"deleted and created after the first list", at("9", versions{"b": {"1", "5"}}), at("12", versions{"b": {"2", "11"}}), versions{}, nil},
		{"deleted before the first list", at("9", versions{}), at("9", versions{}), versions{"b": {"1", "5"}}, []string{"b (deleted)"}},
		{"created after the first list", at("9", versions{}), at("12", versions{"b": {"1", "10"}}), versions{"b": {"1", "10"}}, nil},
		{"created after the first list and deleted before the second", at("9", versions{}), at("12", versions{}), versions{"b": {"1", "10"}}, nil},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			if got := staleObjects(tt.first, tt.second, tt.cached); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStaleObjectsAreBounded(t *testing.T) {
	got := staleDifference("pods", strings.Fields("a/1 a/2 a/3 a/4 a/5 a/6 a/7")).What
	if want := "the agent's cache lags behind the API: pods a/1, a/2, a/3, a/4, a/5 and 2 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCacheWithoutEventsIsStale: a cache whose watch delivers nothing is compared with what a real API server has.
func TestCacheWithoutEventsIsStale(t *testing.T) {
	server := apitest.Start(t, apitest.Options{WithoutProjectCRDs: true})
	client, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	namespaces := client.CoreV1().Namespaces()
	create := func(name string) {
		t.Helper()
		if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w := &watched{resource: "namespaces", client: client.CoreV1().RESTClient(), where: fields.ParseSelectorOrDie("metadata.name!=default"), store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	fill := func() {
		t.Helper()
		list, err := namespaces.List(t.Context(), metav1.ListOptions{FieldSelector: w.where.String()})
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		if err := w.store.Replace(all, list.ResourceVersion); err != nil {
			t.Fatal(err)
		}
	}
	// stale returns the namespaces of the test: the API server creates and changes its own.
	stale := func() []string {
		t.Helper()
		late, err := w.stale(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(late, func(name string) bool { return strings.HasPrefix(name, "kube-") })
	}
	create("changed")
	fill()
	if got := stale(); len(got) > 0 {
		t.Errorf("a current cache lacks %q", got)
	}
	create("new")
	if _, err := namespaces.Patch(t.Context(), "changed", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := stale(), []string{"changed (an older version)", "new (missing)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	fill()
	if got := stale(); len(got) > 0 {
		t.Errorf("after its events have arrived, the cache lacks %q", got)
	}
}
