package lab

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestNodesMeetTheRequirementsOfNetworkPods starts a pod like those of network agents: on the node's network, privileged, with directories of
// the node. Its mounts below /run/netns are visible on the node, it can create tunnel devices, its files are on that node only, and the
// links between nodes transmit large packets.
func TestNodesMeetTheRequirementsOfNetworkPods(t *testing.T) {
	lab(t, "up", "--workers", "1", "--mtu", "9000")
	t.Cleanup(func() { lab(t, "down") })
	if err := checkout.Connect(); err != nil {
		t.Fatal(err)
	}
	pod := kit.ServerPod(metav1.NamespaceDefault, "agent", "worker-0", nil)
	pod.Spec.HostNetwork = true
	container := &pod.Spec.Containers[0]
	container.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	create := corev1.HostPathDirectoryOrCreate
	for name, path := range map[string]string{"netns": "/run/netns", "database": "/var/lib/openvswitch"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &create}},
		})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{
			Name: name, MountPath: path, MountPropagation: new(corev1.MountPropagationBidirectional),
		})
	}
	// The default account exists before its token's CA does.
	pod.Spec.AutomountServiceAccountToken = new(false)
	if _, err := checkout.RunPod(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if out, err := checkout.Exec(t.Context(), pod, "ip netns add made && ip tuntap add tap0 mode tap && echo kept > /var/lib/openvswitch/conf.db"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for what, row := range map[string]struct{ script, want string }{
		"a namespace that the pod made is the node's": {"ip netns exec made ip -o link show lo | cut -d: -f2", "lo"},
		"so is a device":                                 {"ip -o link show tap0 | cut -d: -f2", "tap0"},
		"what the pod keeps is on the node":              {"cat /var/lib/openvswitch/conf.db", "kept"},
		"the other node answers large packets unchanged": {"ping -c1 -W2 -M do -s 8972 10.89.0.11 >/dev/null && echo yes", "yes"},
	} {
		out, err := checkout.Lab(t.Context(), "exec", "worker-0", "--", "sh", "-c", row.script)
		if got := strings.TrimSpace(out); err != nil || got != row.want {
			t.Errorf("%s: %q, %v, want %q", what, got, err, row.want)
		}
	}
	if out, err := checkout.Lab(context.Background(), "exec", "cp-0", "--", "sh", "-c", "ls -d /var/lib/openvswitch/conf.db /run/netns/made 2>/dev/null; true"); err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("the other node has %q, %v", out, err)
	}
}
