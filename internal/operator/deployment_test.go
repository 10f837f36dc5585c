package operator

import (
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// shippedDeployment is the operator's own, as config/operator has it.
func shippedDeployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	raw, err := os.ReadFile("../../config/operator/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(raw, &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func TestTheCollectorFitsIntoTheLimitOfMemory(t *testing.T) {
	container := shippedDeployment(t).Spec.Template.Spec.Containers[0]
	limit := container.Resources.Limits.Memory().Value()
	// What docs/benchmarks.md has for 10,000 nodes and 50,000 pods.
	if most := int64(120e6); limit < 2*most {
		t.Errorf("a limit of %d bytes is less than twice the %d bytes of a large cluster", limit, most)
	}
	var collector int64
	for _, e := range container.Env {
		if e.Name == "GOMEMLIMIT" {
			q, err := resource.ParseQuantity(strings.TrimSuffix(e.Value, "B")) // Go spells MiB what Kubernetes spells Mi
			if err != nil {
				t.Fatal(err)
			}
			collector = q.Value()
		}
	}
	if collector == 0 || collector > limit*85/100 || collector < limit/2 {
		t.Errorf("GOMEMLIMIT is %d of a limit of %d bytes; some of that is for what is not the heap", collector, limit)
	}
	if cpu, limited := container.Resources.Limits[corev1.ResourceCPU]; limited {
		t.Errorf("the operator is throttled at %s when the network has to be repaired", cpu.String())
	}
}

func TestTwoReplicasNeverShareANode(t *testing.T) {
	d := shippedDeployment(t)
	if *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	ports := d.Spec.Template.Spec.Containers[0].Ports
	if len(ports) == 0 || ports[0].HostPort == 0 {
		t.Error("without a hostPort the scheduler puts two replicas on one node, where the second cannot listen")
	}
	if u := d.Spec.Strategy.RollingUpdate; u.MaxSurge.IntValue() != 0 || u.MaxUnavailable.IntValue() != 1 {
		t.Errorf("a rollout does not end on two nodes: %v", u)
	}
}

// TestTheOperatorMountsNoDirectoryOfTheNode: on kubeadm's nodes, /etc/kubernetes has the keys of the cluster's CA.
func TestTheOperatorMountsNoDirectoryOfTheNode(t *testing.T) {
	for _, v := range shippedDeployment(t).Spec.Template.Spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is %s", v.Name, v.HostPath.Path)
		}
	}
	overlay, err := os.ReadFile("../../config/openshift/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(overlay)) {
		path, isPath := strings.CutPrefix(strings.TrimSpace(line), "path: /etc/")
		if isPath && path != "kubernetes/apiserver-url.env" && path != "pki/ca-trust/extracted/pem" {
			t.Error(line)
		}
	}
}

func TestSingleNodeHasOneReplicaOfTheSameDeployment(t *testing.T) {
	raw, err := os.ReadFile("../../config/single-node/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct {
		Resources []string
		Patches   []struct {
			Target struct{ Kind, Name string }
			Patch  string
		}
	}
	if err := yaml.Unmarshal(raw, &overlay); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(overlay.Resources, []string{"../default"}) || len(overlay.Patches) != 1 {
		t.Fatalf("%+v", overlay)
	}
	var steps []struct {
		Op, Path string
		Value    int
	}
	patch, shipped := overlay.Patches[0], shippedDeployment(t)
	if err := yaml.Unmarshal([]byte(patch.Patch), &steps); err != nil {
		t.Fatal(err)
	}
	if patch.Target.Kind != "Deployment" || patch.Target.Name != shipped.Name || len(steps) != 1 || steps[0].Op != "replace" || steps[0].Path != "/spec/replicas" || steps[0].Value != 1 {
		t.Errorf("%+v of %s", steps, patch.Target)
	}
}
