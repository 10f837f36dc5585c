package node

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
)

func TestRequested(t *testing.T) {
	container := func(privileged bool) corev1.Container {
		return corev1.Container{SecurityContext: &corev1.SecurityContext{Privileged: &privileged}}
	}
	for _, row := range []struct {
		why             string
		annotations     map[string]string
		init, container corev1.Container
		want            requests
		refused         []string
	}{
		{"nothing", nil, corev1.Container{}, corev1.Container{}, requests{}, nil},
		{"limits", map[string]string{bandwidth.AnnotationEgress: "1M"}, corev1.Container{}, corev1.Container{}, requests{limits: bandwidth.Limits{Egress: 1000}}, nil},
		{"a privileged pod", map[string]string{macvlanAnnotation: "true"}, corev1.Container{}, container(true), requests{macvlan: "true"}, nil},
		{"a privileged init container", map[string]string{macvlanAnnotation: "eth1"}, container(true), container(false), requests{macvlan: "eth1"}, nil},
		{"the interface is declined", map[string]string{macvlanAnnotation: "false"}, corev1.Container{}, corev1.Container{}, requests{}, nil},
		{"a pod that is not privileged", map[string]string{macvlanAnnotation: "true"}, corev1.Container{}, container(false), requests{}, []string{"the pod has no privileged container"}},
		{"no value", map[string]string{macvlanAnnotation: ""}, corev1.Container{}, container(true), requests{}, []string{`write "true" or the name of a link`}},
		{"all at once", map[string]string{macvlanAnnotation: "true", bandwidth.AnnotationIngress: "x"}, corev1.Container{}, corev1.Container{}, requests{}, []string{`is "x"`, "no privileged container"}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: row.annotations}, Spec: corev1.PodSpec{InitContainers: []corev1.Container{row.init}, Containers: []corev1.Container{row.container}}}
		small, err := reduced(pod) // what the agent keeps of a pod is enough
		if err != nil {
			t.Fatal(err)
		}
		got, err := requested(small.(*corev1.Pod))
		if got != row.want || (err != nil) != (row.refused != nil) {
			t.Errorf("%s: %+v %v", row.why, got, err)
		}
		for _, want := range row.refused {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %q is missing in %v", row.why, want, err)
			}
		}
	}
}

func TestFlowsOf(t *testing.T) {
	own := []string{
		"-table=40, priority=100,arp,arp_tpa=10.128.2.9 actions=output:11",
		"-table=20, priority=100,ip,in_port=11,nw_src=10.128.2.9 actions=goto_table:21",
		"+table=0, in_port=11 actions=drop",
		"-table=70, ip,nw_dst=10.128.2.9,reg0=0xa actions=output:11",
		"+table=1, priority=1 actions=set_field:10.128.2.9->nw_dst",
	}
	others := []string{
		"-table=40, priority=100,arp,arp_tpa=10.128.2.90 actions=output:110",
		"-table=20, in_port=111,nw_src=110.128.2.9 actions=drop",
		"+table=0, priority=11 actions=drop",
	}
	if got := flowsOf(slices.Concat(others, own), netip.MustParseAddr("10.128.2.9"), 11); !slices.Equal(got, own) {
		t.Errorf("flows of the pod are %q", got)
	}
}
