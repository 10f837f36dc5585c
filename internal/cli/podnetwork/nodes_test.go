package podnetwork

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cluster-network-operator/cno/internal/provider"
)

// reporterFunc is a VNIDReporter.
type reporterFunc func(node string) (map[string]uint32, error)

func (f reporterFunc) VNIDs(_ context.Context, _ provider.TraceAccess, node string) (map[string]uint32, error) {
	return f(node)
}

// TestNodesAreAwaited: those with pods of the changed namespaces.
func TestNodesAreAwaited(t *testing.T) {
	pod := func(namespace, name, node string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		if change != nil {
			change(p)
		}
		return p
	}
	reader := fake.NewClientBuilder().WithObjects(
		pod("a", "one", "first", nil), pod("a", "two", "second", nil), pod("b", "other", "third", nil),
		pod("a", "waiting", "", nil), pod("a", "host", "fourth", func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		pod("a", "ended", "fifth", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
	).Build()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "sdn", errors.New("no"))
	silent := errors.New("no pod runs there")
	for _, row := range []struct {
		why string
		// applied is when each node has the VNID; a node that is missing has it at once.
		applied map[string]time.Duration
		// failures are the errors of nodes that do not answer.
		failures   map[string]error
		took       time.Duration
		note, want string
	}{
		{"all nodes have it", nil, nil, 0, "", ""},
		{"one has it later", map[string]time.Duration{"second": 3 * time.Second}, nil, 3 * time.Second, "", ""},
		{"one never has it", map[string]time.Duration{"second": time.Hour}, nil, time.Minute, "", "these nodes do not use them yet: second: node second uses VNID 77 for namespace a"},
		{"the agents do not answer", nil, map[string]error{"first": silent, "second": silent}, time.Minute, "", "these nodes do not use them yet: first and second: no pod runs there"},
		{"the user may not ask them", nil, map[string]error{"first": forbidden, "second": forbidden}, 0, "the command cannot wait for first and second", ""},
		{"the user may not ask one, and another has it later", map[string]time.Duration{"second": 3 * time.Second}, map[string]error{"first": forbidden}, 3 * time.Second, "the command cannot wait for first:", ""},
		{"the user may not ask one, and another never has it", map[string]time.Duration{"first": time.Hour}, map[string]error{"second": forbidden}, time.Minute, "the command cannot wait for second:", "these nodes do not use them yet: first:"},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var mu sync.Mutex
			asked := map[string]bool{}
			a := agents{access: provider.TraceAccess{Objects: reader}, VNIDReporter: reporterFunc(func(node string) (map[string]uint32, error) {
				mu.Lock()
				defer mu.Unlock()
				asked[node] = true
				if err := row.failures[node]; err != nil {
					return nil, err
				}
				id := uint32(10)
				if time.Since(start) < row.applied[node] {
					id = 77
				}
				return map[string]uint32{"a": id, "b": 11}, nil
			})}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			note, err := a.await(ctx, []answer{{"a", 10}})
			if (row.note == "") != (note == "") || !strings.Contains(note, row.note) {
				t.Errorf("%s: the note is %q", row.why, note)
			}
			if (row.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("%s: %v", row.why, err)
			}
			if took := time.Since(start); took != row.took {
				t.Errorf("%s: it takes %s, want %s", row.why, took, row.took)
			}
			for _, node := range []string{"third", "fourth", "fifth"} {
				if asked[node] {
					t.Errorf("%s: node %s is asked, which has no pod of the namespace", row.why, node)
				}
			}
			for _, node := range []string{"first", "second"} {
				if !asked[node] {
					t.Errorf("%s: node %s is not asked", row.why, node)
				}
			}
		})
	}
}
