package apply_test

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// manager is the field manager of the tests.
const manager = "cluster-network-operator/operconfig"

// names gives each test names of its own, since there is one server for all.
var names atomic.Int64

// cluster is a part of the test server that one test has for itself.
type cluster struct {
	testing.TB
	server *apitest.Server
	apply.Client
	executor apply.Executor
	// name is a word that no other test uses.
	name string
	// requests are those that the client made, as "METHOD path".
	requests *requests
	observer apply.Client // makes requests that are not counted
}

// requests counts what goes through an HTTP client.
type requests struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []string
}

func (r *requests) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.seen = append(r.seen, request.Method+" "+request.URL.Path)
	r.mu.Unlock()
	return r.next.RoundTrip(request)
}

func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	server := apitest.Shared(tb)
	c := &cluster{TB: tb, server: server, name: fmt.Sprintf("apply%d", names.Add(1)), requests: &requests{}}
	counted := rest.CopyConfig(server.Config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { c.requests.next = next; return c.requests })
	c.Client, c.observer = clientFor(tb, counted, manager), clientFor(tb, server.Config, "someone-else")
	c.executor = apply.Executor{Client: c.Client, Namespace: server.Namespace(tb), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	return c
}

func clientFor(tb testing.TB, config *rest.Config, manager string) apply.Client {
	tb.Helper()
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		tb.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, http)
	if err != nil {
		tb.Fatal(err)
	}
	api, err := dynamic.NewForConfigAndClient(config, http)
	if err != nil {
		tb.Fatal(err)
	}
	return apply.NewClient(api, mapper, manager)
}

// live is a plan.Lookup without a cache.
func (c *cluster) live(key manifest.Key) (*unstructured.Unstructured, bool) {
	version := "v1"
	o, err := c.observer.Get(c.Context(), ref(key, version))
	return o, err == nil
}

func ref(key manifest.Key, version string) apply.Ref {
	r := apply.Ref{GroupVersionKind: key.GroupKind().WithVersion(version)}
	r.Namespace, r.Name = key.Namespace, key.Name
	return r
}

// must returns an object that has to be there.
func (c *cluster) must(kind, name string) *unstructured.Unstructured {
	c.Helper()
	o, ok := c.live(c.key(kind, name))
	if !ok {
		c.Fatalf("%s %s does not exist", kind, name)
	}
	return o
}

// key returns the key of an object in the test's namespace. The kind is written like "DaemonSet.apps".
func (c *cluster) key(kind, name string) manifest.Key {
	gk := schema.ParseGroupKind(kind)
	return manifest.Key{Group: gk.Group, Kind: gk.Kind, Namespace: c.name, Name: name}
}

// plan makes a plan as the operator does.
func (c *cluster) plan(objects []manifest.Object) plan.Plan {
	c.Helper()
	return c.planWith(objects, healthy)
}

// healthy reports all workloads as healthy: no controller runs them here.
func healthy() (bool, string) { return true, "" }

func (c *cluster) planWith(objects []manifest.Object, health func() (bool, string)) plan.Plan {
	c.Helper()
	inventory, err := readInventory(c.Context(), c.observer, c.executor.Namespace)
	if err != nil {
		c.Fatal(err)
	}
	p, err := plan.Make(plan.Input{Desired: objects, Live: c.live, Inventory: inventory,
		Health: func(*unstructured.Unstructured) (bool, string) { return health() }})
	if err != nil {
		c.Fatal(err)
	}
	return p
}

// apply makes and executes a plan, and returns it.
func (c *cluster) apply(objects []manifest.Object) plan.Plan {
	c.Helper()
	p := c.plan(objects)
	c.requests.take()
	if _, err := c.executor.Execute(c.Context(), p); err != nil {
		c.Fatalf("execute:\n%s\n%v", p, err)
	}
	return p
}

// converged fails the test if there is anything left to do.
func (c *cluster) converged(objects []manifest.Object) {
	c.Helper()
	p := c.plan(objects)
	c.requests.take()
	if _, err := c.executor.Execute(c.Context(), p); err != nil || !p.Converged() {
		c.Errorf("there is something left to do:\n%s%v", p, err)
	}
	if seen := c.requests.take(); len(seen) > 0 {
		c.Errorf("requests for nothing: %v", seen)
	}
}

// as writes to the cluster as another client, by server-side apply.
func (c *cluster) as(o *unstructured.Unstructured) {
	c.Helper()
	if _, err := c.observer.Apply(c.Context(), o); err != nil {
		c.Fatal(err)
	}
}

// edit changes an object as kubectl edit does.
func (c *cluster) edit(kind, name string, change func(map[string]any)) {
	c.Helper()
	o := c.must(kind, name)
	apitest.Change(c, c.server.Client, o, func() { change(o.Object) })
}

// objects decodes manifests, in which NAME stands for the test's name. All are labelled as the operator's.
func (c *cluster) objects(text string) []manifest.Object {
	c.Helper()
	files := fstest.MapFS{"a.yaml": {Data: []byte(strings.ReplaceAll(text, "NAME", c.name))}}
	return c.decode(files, "a.yaml")
}

func (c *cluster) decode(files fs.FS, path string) []manifest.Object {
	c.Helper()
	typed, err := manifest.DecodeAll(files, path)
	if err != nil {
		c.Fatal(err)
	}
	var objects []manifest.Object
	for _, t := range typed {
		o, err := manifest.New(t, manifest.Policy{})
		if err != nil {
			c.Fatal(err)
		}
		manifest.Stamp(o, "Test", "v1.0.0")
		objects = append(objects, o)
	}
	return objects
}

// rich returns one of each kind that is rendered.
func (c *cluster) rich() []manifest.Object {
	c.Helper()
	return c.objects(richText(c))
}

func richText(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("testdata/rich.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// without returns the objects but those of a kind and name.
func without(objects []manifest.Object, kind, name string) []manifest.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o manifest.Object) bool {
		return o.Object.GetKind() == kind && o.Object.GetName() == name
	})
}

// find returns the object of a kind and name.
func find(objects []manifest.Object, kind, name string) manifest.Object {
	for _, o := range objects {
		if o.Object.GetKind() == kind && o.Object.GetName() == name {
			return o
		}
	}
	panic("no " + kind + " " + name)
}

// at returns the value at a path, in which numbers are indexes.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			value = value.(map[string]any)[step]
		case int:
			value = value.([]any)[step]
		}
	}
	return value
}
