package lab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestParseDaemonSet(t *testing.T) {
	for s, want := range map[string]DaemonSet{
		"openshift-multus/multus": {"openshift-multus", "multus"},
		"multus":                  {}, // The namespace is not implied.
		"/multus":                 {},
		"openshift-multus/":       {},
		"a/b/c":                   {},
		"":                        {},
	} {
		got, err := ParseDaemonSet(s)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s, diff)
		}
		if invalid := want == (DaemonSet{}); invalid != (err != nil) || err != nil && !strings.Contains(err.Error(), "give NAMESPACE/NAME") {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

func TestContainersOfADaemonSet(t *testing.T) {
	d := DaemonSet{Namespace: "openshift-multus", Name: "multus"}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	statuses := []corev1.ContainerStatus{
		{Name: "multus", ContainerID: "containerd://1", State: running},
		{Name: "dhcp", ContainerID: "containerd://2", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		{Name: "multi-networkpolicy", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}},
	}
	for name, tt := range map[string]struct {
		kind, owner string
		controls    bool
		owned       bool
	}{
		"its own":             {"DaemonSet", "multus", true, true},
		"of another one":      {"DaemonSet", "flannel", true, false},
		"of another kind":     {"ReplicaSet", "multus", true, false},
		"without controlling": {"DaemonSet", "multus", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: statuses}}
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: tt.kind, Name: tt.owner, Controller: &tt.controls}}
			if got := d.owns(pod); got != tt.owned {
				t.Errorf("it owns the pod: %v", got)
			}
			if diff := cmp.Diff([]string{"1"}, runningContainers(pod)); diff != "" {
				t.Errorf("running containers (-want +got):\n%s", diff)
			}
		})
	}
}
