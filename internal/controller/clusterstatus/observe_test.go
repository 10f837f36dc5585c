package clusterstatus

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestAWorkloadWithoutASelectorHasNoPods: neither those of its whole namespace, nor the end of the operator.
func TestAWorkloadWithoutASelectorHasNoPods(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": "a"}}}
	c := &Controller{Pods: func(_ context.Context, _ string, s labels.Selector, add func(*corev1.Pod)) error {
		if s.Matches(labels.Set(pod.Labels)) {
			add(pod)
		}
		return nil
	}}
	for _, row := range []struct {
		why      string
		selector *metav1.LabelSelector
		want     int
	}{
		{"its own", &metav1.LabelSelector{MatchLabels: pod.Labels}, 1},
		{"none", nil, 0},
		{"an invalid one", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}, 0},
	} {
		pods, failing, err := c.pods(t.Context(), "n", row.selector, 1)
		if err != nil || failing || len(pods) != row.want {
			t.Errorf("%s: %v, failing %v, error %v", row.why, pods, failing, err)
		}
	}
}
