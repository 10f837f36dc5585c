package addon

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/e2e/lab/image"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

func TestNameServerHasItsWellKnownAddresses(t *testing.T) {
	tests := map[string]struct {
		family topology.Family
		want   []string
		policy corev1.IPFamilyPolicy
	}{
		"IPv4": {topology.IPv4, []string{"10.96.0.10"}, corev1.IPFamilyPolicySingleStack},
		"IPv6": {topology.IPv6, []string{"fd96::a"}, corev1.IPFamilyPolicySingleStack},
		"both": {topology.DualStack, []string{"10.96.0.10", "fd96::a"}, corev1.IPFamilyPolicyRequireDualStack},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, o := range objects(t, tt.family) {
				s, ok := o.(*corev1.Service)
				if !ok {
					continue
				}
				if diff := cmp.Diff(tt.want, s.Spec.ClusterIPs); diff != "" {
					t.Error(diff)
				}
				if s.Spec.ClusterIP != tt.want[0] || *s.Spec.IPFamilyPolicy != tt.policy {
					t.Errorf("address %s, policy %s", s.Spec.ClusterIP, *s.Spec.IPFamilyPolicy)
				}
			}
		})
	}
}

func TestClusterInfoHoldsTheKubeconfig(t *testing.T) {
	for _, o := range objects(t, topology.IPv4) {
		if c, ok := o.(*corev1.ConfigMap); ok && c.Name == "cluster-info" {
			if diff := cmp.Diff(map[string]string{"kubeconfig": "the kubeconfig"}, c.Data); diff != "" {
				t.Error(diff)
			}
			return
		}
	}
	t.Error("there is no cluster-info")
}

func TestNameServerRunsAnImageThatTheLabBuilds(t *testing.T) {
	built := map[string]bool{}
	for _, img := range image.Default(image.Sources{}) {
		built[img.Spec.Reference] = true
	}
	for _, o := range objects(t, topology.IPv4) {
		d, ok := o.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			if !built[c.Image] {
				t.Errorf("%s runs %s, which the lab does not build", d.Name, c.Image)
			}
		}
	}
}

// objects decodes what Objects returns, strictly.
func objects(t *testing.T, f topology.Family) []any {
	t.Helper()
	lab, err := topology.New(topology.Options{ControlPlanes: 1, Family: f})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := Objects(lab, []byte("the kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := decode(stream)
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	for _, o := range list {
		out = append(out, o)
	}
	if len(out) < 9 {
		t.Fatalf("there are only %d objects", len(out))
	}
	return out
}
