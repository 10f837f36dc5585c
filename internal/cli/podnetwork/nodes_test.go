package podnetwork

import (
	"context"
	"errors"
	"strings"
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
	for _, row := range []struct {
		why string
		// applied is when each node has the VNID; a node that is missing has it at once.
		applied    map[string]time.Duration
		failure    error
		asked      string
		took       time.Duration
		note, want string
	}{
		{"all nodes have it", nil, nil, "first second", 0, "", ""},
		{"one has it later", map[string]time.Duration{"second": 3 * time.Second}, nil, "first second", 3 * time.Second, "", ""},
		{"one never has it", map[string]time.Duration{"second": time.Hour}, nil, "first second", time.Minute, "", "these nodes do not use them yet: second"},
		{"the agents do not answer", nil, errors.New("no pod runs there"), "first second", time.Minute, "", "these nodes do not use them yet: first and second: no pod runs there"},
		{"the user may not ask them", nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "sdn", errors.New("no")), "first", 0, "the command cannot wait for that", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			asked := map[string]bool{}
			a := agents{access: provider.TraceAccess{Objects: reader}, VNIDReporter: reporterFunc(func(node string) (map[string]uint32, error) {
				asked[node] = true
				if row.failure != nil {
					return nil, row.failure
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
			for node := range strings.FieldsSeq(row.asked) {
				if !asked[node] {
					t.Errorf("%s: node %s is not asked", row.why, node)
				}
			}
		})
	}
}
