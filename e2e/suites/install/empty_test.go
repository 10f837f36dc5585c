package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// kubeadm is what kubeadm keeps of its configuration, as far as networks are concerned. The pool differs from that of all samples.
const kubeadm = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking:
  dnsDomain: cluster.local
  podSubnet: 10.60.0.0/16
  serviceSubnet: 10.96.0.0/16
`

func TestEmptySpecificationIsSufficientOnAClusterOfKubeadm(t *testing.T) {
	kit.Full(t)
	lab.Type = operatorv1.NetworkTypeOVNKubernetes // for its images
	t.Cleanup(func() { lab.Type = "" })
	fresh(t)
	apply(t, "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata:\n  name: cluster\nspec: {}\n")
	kit.Eventually(t, time.Minute, "the operator names what is missing", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Degraded", "True", "InvalidOperatorConfig", "spec.clusterNetwork", "kubeadm-config")
	})
	declared := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kubeadm-config"}, Data: map[string]string{"ClusterConfiguration": kubeadm}}
	if err := lab.Client.Create(t.Context(), declared); err != nil {
		t.Fatal(err)
	}
	if err := lab.WaitSettled(t.Context(), 5*time.Minute); err != nil { // the source is read once a minute
		t.Fatalf("the network does not become available: %v", err)
	}
	if err := lab.Mesh(t.Context(), lab.ServerOnEachNode(t, lab.Namespace(t), nil)); err != nil {
		t.Error(err)
	}
	kit.Eventually(t, time.Minute, "each node has an object with its block of the declared network", blocksAreIn("10.60."))
	kit.Eventually(t, time.Minute, "an event names the values and their sources", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := lab.Client.List(ctx, events); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "DefaultsDetected" && strings.Contains(e.Message, "10.60.0.0/16") && strings.Contains(e.Message, "kubeadm-config")
		}) {
			return fmt.Errorf("none of %d events does", len(events.Items))
		}
		return nil
	})
	err := lab.Change(t.Context(), declared, func() {
		declared.Data["ClusterConfiguration"] = strings.ReplaceAll(kubeadm, "10.60.", "10.61.")
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "rollout", "restart", "deployment", "network-operator"); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "rollout", "status", "deployment", "network-operator", "--timeout=2m"); err != nil {
		t.Fatal(err)
	}
	settles(t)
	if err := blocksAreIn("10.60.")(t.Context()); err != nil {
		t.Errorf("another configuration of kubeadm changes the network in use: %v", err)
	}
}

// blocksAreIn returns nil if each node has a NetworkNode whose blocks begin with a prefix.
func blocksAreIn(prefix string) func(context.Context) error {
	return func(ctx context.Context) error {
		nodes, objects := &corev1.NodeList{}, &networkoperatorv1.NetworkNodeList{}
		for _, list := range []client.ObjectList{nodes, objects} {
			if err := lab.Client.List(ctx, list); err != nil {
				return err
			}
		}
		if len(objects.Items) != len(nodes.Items) {
			return fmt.Errorf("%d objects of %d nodes", len(objects.Items), len(nodes.Items))
		}
		for _, n := range objects.Items {
			if len(n.Status.Blocks) != 1 || !strings.HasPrefix(n.Status.Blocks[0], prefix) {
				return fmt.Errorf("blocks of %s: %v", n.Name, n.Status.Blocks)
			}
		}
		return nil
	}
}
