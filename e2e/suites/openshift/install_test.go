package openshift

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

// TestNetworkConfigAloneConfiguresTheNetwork tests that the operator creates Network.operator from the installer's Network.config, and that pods
// have addresses of its networks.
func TestNetworkConfigAloneConfiguresTheNetwork(t *testing.T) {
	var config configv1.Network
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Name: "cluster"}, &config); err != nil {
		t.Fatal(err)
	}
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(n.Spec.DefaultNetwork.Type); got != config.Spec.NetworkType {
		t.Errorf("got the type %s, want %s of Network.config", got, config.Spec.NetworkType)
	}
	if diff := cmp.Diff(config.Spec.ServiceNetwork, n.Spec.ServiceNetwork); diff != "" {
		t.Errorf("service network (-config +operator):\n%s", diff)
	}
	namespace := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, namespace, nil)
	for node, pod := range pods {
		if out, err := lab.Exec(t.Context(), pods["cp-0"], "curl -sS --max-time 20 http://"+pod.Status.PodIP+":8080/hostname"); err != nil || out != pod.Name {
			t.Errorf("from cp-0 the pod on %s answers %q, %v", node, out, err)
		}
	}
}

// TestClusterOperatorIsAvailable tests the object that an administrator of OpenShift reads first, and for which upgrades wait.
func TestClusterOperatorIsAvailable(t *testing.T) {
	kit.Eventually(t, time.Minute, "ClusterOperator network is settled", clusterOperatorSettled)
}

// TestDeletedClusterOperatorIsRecreated deletes the installer's object; the new one must have the same status.
func TestDeletedClusterOperatorIsRecreated(t *testing.T) {
	old, err := clusterOperator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "ClusterOperator network is recreated", func(ctx context.Context) error {
		now, err := clusterOperator(ctx)
		if err == nil && now.UID == old.UID {
			return fmt.Errorf("it is not deleted yet")
		}
		if err != nil {
			return err
		}
		return clusterOperatorSettled(ctx)
	})
}

// TestOptionalCRDMayBeDeletedAndRecreated tests that a missing optional API causes no problem, and does not change the network.
func TestOptionalCRDMayBeDeletedAndRecreated(t *testing.T) {
	const kind = "prometheusrules.monitoring.coreos.com"
	before, err := lab.PodUIDs(t.Context(), kit.FlannelNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := openshift.Definitions(nil, kind)
	if err != nil {
		t.Fatal(err)
	}
	definition, err := yaml.Marshal(definitions[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Kubectl(t.Context(), "delete", "crd", kind); err != nil {
		t.Fatal(err)
	}
	stays := func(when string) {
		t.Helper()
		for range 20 {
			if err := lab.Settled(t.Context()); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	stays("without the kind")
	if _, err := lab.KubectlInput(t.Context(), string(definition), "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	stays("with the kind again")
	after, err := lab.PodUIDs(t.Context(), kit.FlannelNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("pods have changed:\n%s", diff)
	}
}

func clusterOperator(ctx context.Context) (*configv1.ClusterOperator, error) {
	o := &configv1.ClusterOperator{}
	return o, lab.Client.Get(ctx, client.ObjectKey{Name: "network"}, o)
}

// clusterOperatorSettled returns nil if the ClusterOperator reports no problem, its versions and its related objects.
func clusterOperatorSettled(ctx context.Context) error {
	o, err := clusterOperator(ctx)
	if err != nil {
		return err
	}
	for kind, want := range map[configv1.ClusterStatusConditionType]configv1.ConditionStatus{
		configv1.OperatorAvailable: configv1.ConditionTrue, configv1.OperatorProgressing: configv1.ConditionFalse,
		configv1.OperatorDegraded: configv1.ConditionFalse, configv1.OperatorUpgradeable: configv1.ConditionTrue,
	} {
		i := slices.IndexFunc(o.Status.Conditions, func(c configv1.ClusterOperatorStatusCondition) bool { return c.Type == kind })
		if i < 0 {
			return fmt.Errorf("ClusterOperator network has no %s", kind)
		}
		if c := o.Status.Conditions[i]; c.Status != want {
			return fmt.Errorf("ClusterOperator network: %s=%s (%s: %s)", kind, c.Status, c.Reason, c.Message)
		}
	}
	if len(o.Status.Versions) == 0 || len(o.Status.RelatedObjects) == 0 {
		return fmt.Errorf("ClusterOperator network names %d versions and %d related objects", len(o.Status.Versions), len(o.Status.RelatedObjects))
	}
	return nil
}
