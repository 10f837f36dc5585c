package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

func TestPodsOnFurtherNetworksAreCountedByType(t *testing.T) {
	pod := func(phase corev1.PodPhase, status string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wire.AnnotationStatus: status}}, Status: corev1.PodStatus{Phase: phase}}
	}
	const own = `{"name":"cbr0","interface":"eth0","default":true}`
	got := instances([]*corev1.Pod{
		pod(corev1.PodRunning, "["+own+"]"),
		pod(corev1.PodRunning, ""),
		pod(corev1.PodRunning, "["+own+`,{"name":"a/one","interface":"net1"},{"name":"a/two","interface":"net2"}]`),
		pod(corev1.PodPending, "["+own+`,{"name":"a/one","interface":"net1"},{"name":"a/three","interface":"net2"}]`),
		pod(corev1.PodRunning, "["+own+`,{"name":"a/deleted","interface":"net1"}]`),
		pod(corev1.PodSucceeded, "["+own+`,{"name":"a/one","interface":"net1"}]`),
	}, map[string]finding.Checked{"a/one": {Type: "macvlan"}, "a/two": {Type: "macvlan"}, "a/three": {Type: "bridge"}})
	if diff := cmp.Diff(map[string]int{finding.Any: 3, "macvlan": 2, "bridge": 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReportIsWrittenOnRelevantChanges(t *testing.T) {
	for _, tc := range []struct {
		why, last, next string
		since           time.Duration
		want            bool
	}{
		{"the first", "", `{}`, 0, true},
		{"nothing has changed", `{"instances":{"any":1}}`, `{"instances":{"any":1}}`, time.Hour, false},
		{"one more pod, at once", `{"instances":{"any":1}}`, `{"instances":{"any":2}}`, time.Second, false},
		{"... after a minute", `{"instances":{"any":1}}`, `{"instances":{"any":2}}`, time.Minute, true},
		{"a plugin that the node does not have", `{}`, `{"missingPlugins":["a"]}`, time.Second, true},
		{"an interface that it has now", `{"missingInterfaces":["a"]}`, `{}`, time.Second, true},
	} {
		if got := due(tc.last, tc.next, tc.since); got != tc.want {
			t.Errorf("%s: %v", tc.why, got)
		}
	}
}
