package validate

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/declared"
)

const empty = "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\nspec: {}\n"

// TestOmittedFieldsNeedACluster: without a cluster, they are errors that name the fields and the commands that detect them.
func TestOmittedFieldsNeedACluster(t *testing.T) {
	status, out, _ := validate1(empty, "-f", "-")
	if status != exit.Refused || strings.Count(out, "it can only be detected in a cluster (cno plan, or cno validate with --kubeconfig)") != 3 {
		t.Errorf("status %d, %s", status, out)
	}
	for _, field := range []string{"spec.clusterNetwork: is required", "spec.serviceNetwork: is required", "spec.defaultNetwork.type: is required"} {
		if !strings.Contains(out, field) {
			t.Errorf("%q is not in %s", field, out)
		}
	}
}

func TestClusterHasOmittedFields(t *testing.T) {
	server := apitest.Start(t, apitest.Options{})
	status, out, stderr := validate1(empty, "-f", "-", "--kubeconfig", server.Kubeconfig)
	if status != exit.Refused || !strings.Contains(out, "spec.clusterNetwork: is required: the cluster does not declare it. The operator has looked for") ||
		!strings.Contains(out, "omitted: spec.serviceNetwork: 10.96.0.0/16 (from ServiceCIDR kubernetes)\n") {
		t.Errorf("a cluster that does not declare pools of pods: status %d, %s%s", status, out, stderr)
	}
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: declared.KubeadmNamespace, Name: declared.KubeadmName},
		Data: map[string]string{declared.KubeadmKey: "networking: {podSubnet: 10.244.0.0/16}"}})
	status, out, stderr = validate1(empty, "-f", "-", "--kubeconfig", server.Kubeconfig)
	want := "omitted: spec.defaultNetwork.type: OVNKubernetes (from the default)\nomitted: spec.clusterNetwork: 10.244.0.0/16 (/24 a node) (from " + declared.KubeadmPods +
		")\nomitted: spec.serviceNetwork: 10.96.0.0/16 (from ServiceCIDR kubernetes)\nvalid\n"
	if status != exit.OK || out != want {
		t.Errorf("status %d, %q, want %q; %s", status, out, want, stderr)
	}
	status, out, _ = validate1(strings.Replace(empty, "spec: {}\n", "", 1), "-f", "-", "--kubeconfig", server.Kubeconfig)
	if status != exit.Refused || !strings.Contains(out, "spec: is required; write spec: {} to use the values") {
		t.Errorf("without a specification: status %d, %s", status, out)
	}
}
