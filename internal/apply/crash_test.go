package apply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// limitedClient is a client that executes a number of writes, and fails permanently with the next one: nothing that a
// process does after it was killed reaches the server. With late, the last write reaches the server, and only its
// answer does not arrive.
type limitedClient struct {
	apply.Client
	late bool

	mu   sync.Mutex
	left int
}

var errKilled = errors.New("killed")

func (m *limitedClient) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left < 0 {
		return errKilled
	}
	m.left--
	if m.left >= 0 {
		return do()
	}
	if m.late {
		return errors.Join(do(), errKilled)
	}
	return errKilled
}

func (m *limitedClient) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left < 0
}

func (m *limitedClient) Get(ctx context.Context, ref apply.Ref) (*unstructured.Unstructured, error) {
	if m.dead() {
		return nil, errKilled
	}
	return m.Client.Get(ctx, ref)
}

func (m *limitedClient) InUse(ctx context.Context, crd *unstructured.Unstructured) (bool, error) {
	if m.dead() {
		return false, errKilled
	}
	return m.Client.InUse(ctx, crd)
}

func (m *limitedClient) Apply(ctx context.Context, obj *unstructured.Unstructured) (live *unstructured.Unstructured, err error) {
	return live, m.write(func() error { live, err = m.Client.Apply(ctx, obj); return err })
}

func (m *limitedClient) Replace(ctx context.Context, obj *unstructured.Unstructured) error {
	return m.write(func() error { return m.Client.Replace(ctx, obj) })
}

func (m *limitedClient) Delete(ctx context.Context, ref apply.Ref, uid types.UID, propagation metav1.DeletionPropagation) error {
	return m.write(func() error { return m.Client.Delete(ctx, ref, uid, propagation) })
}

// The three states that a cluster is taken through. Each step from one to the next is killed at each of its writes.
const (
	first = small + `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: agent, namespace: NAME}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: NAME}
`
	third = ""
)

// second changes a field, drops one, adds an object, drops one, and changes a selector.
var second = strings.NewReplacer(`a: "1", b: "2"`, `a: "3"`, "app: agent", "app: other", "kind: ServiceAccount\nmetadata: {name: agent", "kind: Secret\nmetadata: {name: new").Replace(first)

func TestKilledAtAnyWriteTheNextRunConverges(t *testing.T) {
	for _, step := range []struct{ name, from, to string }{
		{"install", "", first},
		{"change", first, second},
		{"remove", first, third},
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answer lost %t", step.name, late), func(t *testing.T) {
				want := stateAfter(t, step.from, step.to)
				for k := 0; ; k++ {
					c := newCluster(t)
					c.apply(c.objects(step.from))
					if !c.killedAt(k, late, c.objects(step.to)) {
						if k < 4 {
							t.Errorf("only %d writes", k)
						}
						return
					}
					c.applyAll(c.objects(step.to))
					if diff := cmp.Diff(want, c.state(step.from+"\n---\n"+step.to)); diff != "" {
						t.Errorf("killed at write %d: -never killed +killed\n%s", k, diff)
					}
				}
			})
		}
	}
}

func TestKilledDuringInstallEverythingCanBeRemoved(t *testing.T) {
	for k := 0; ; k++ {
		c := newCluster(t)
		if !c.killedAt(k, true, c.objects(first)) {
			return
		}
		c.apply(nil)
		for key := range c.state(first) {
			if !strings.HasPrefix(key, "Namespace ") && key != "inventory" {
				t.Errorf("killed at write %d: %s is left behind", k, key)
			}
		}
	}
}

// killedAt executes a plan with a client that fails from the k-th write on, and reports whether there were so many writes.
func (c *cluster) killedAt(k int, late bool, objects []manifest.Object) bool {
	c.Helper()
	client := &limitedClient{Client: c.Client, late: late, left: k}
	executor := c.executor
	executor.Client, executor.Concurrency = client, 1
	_, err := executor.Execute(c.Context(), c.plan(objects))
	if err != nil && !client.dead() {
		c.Fatalf("write %d: %v", k, err)
	}
	return client.dead()
}

// applyAll executes plans until there is nothing left to do. What is replaced is deleted by the second one, when it is
// seen that what replaces it works.
func (c *cluster) applyAll(objects []manifest.Object) {
	c.Helper()
	for range 2 {
		c.apply(objects)
	}
	c.converged(objects)
}

// stateAfter returns the state of a cluster that was never killed.
func stateAfter(t *testing.T, from, to string) map[string]any {
	t.Helper()
	c := newCluster(t)
	c.apply(c.objects(from))
	c.applyAll(c.objects(to))
	return c.state(from + "\n---\n" + to)
}

// state returns those of the named objects that exist, without what each write changes and with NAME for the name
// of the test, and the inventory without UIDs.
func (c *cluster) state(text string) map[string]any {
	c.Helper()
	state := map[string]any{}
	for _, o := range c.objects(text) {
		live, ok := c.live(o.Key())
		if !ok {
			continue
		}
		content := volatile(live)
		if live.GetDeletionTimestamp() != nil {
			content = map[string]any{"being": "deleted"}
		}
		state[strings.ReplaceAll(o.Key().String(), c.name, "NAME")] = strings.ReplaceAll(fmt.Sprint(withoutHash(content)), c.name, "NAME")
	}
	inventory, err := readInventory(c.Context(), c.observer, c.executor.Namespace)
	if err != nil {
		c.Fatal(err)
	}
	var entries []string
	for _, e := range inventory {
		entries = append(entries, strings.ReplaceAll(e.Key.String(), c.name, "NAME")+fmt.Sprint(e.UID == "", e.Adopted))
	}
	state["inventory"] = entries
	return state
}

// withoutHash removes the hash, which depends on the name of the test.
func withoutHash(content map[string]any) map[string]any {
	unstructured.RemoveNestedField(content, "metadata", "annotations", manifest.AnnotationHash)
	return content
}
