package openshift

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func networkConfig(ctx context.Context) (*configv1.Network, error) {
	n := &configv1.Network{}
	return n, lab.Client.Get(ctx, client.ObjectKey{Name: "cluster"}, n)
}

// allowUnsafe makes the API server store a change that its admission policies refuse. The operator ignores it.
const allowUnsafe = "networkoperator.openshift.io/allow-unsafe"

// setNetworkConfig changes the specification of Network.config without the policies that compare it with the applied configuration, and
// restores it when the test ends.
func setNetworkConfig(t *testing.T, change func(*configv1.NetworkSpec)) (undo func()) {
	t.Helper()
	before, err := networkConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := func(ctx context.Context, change func(*configv1.Network)) error {
		n := &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
		return lab.Change(ctx, n, func() { change(n) })
	}
	if err := write(t.Context(), func(n *configv1.Network) {
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, allowUnsafe, "true")
		change(&n.Spec)
	}); err != nil {
		t.Fatal(err)
	}
	undo = func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, back := range []func(*configv1.Network){
			func(n *configv1.Network) { n.Spec = before.Spec },
			func(n *configv1.Network) { delete(n.Annotations, allowUnsafe) },
		} {
			if err := write(ctx, back); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(undo)
	return undo
}

// synced checks the condition of Network.config.
func synced(status, reason string, says ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := networkConfig(ctx)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(n.Status.Conditions, "Synced")
		if c == nil || string(c.Status) != status || c.Reason != reason || slices.ContainsFunc(says, func(text string) bool { return !strings.Contains(c.Message, text) }) {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	}
}

// TestStatusOfNetworkConfigIsThatOfTheAppliedNetwork tests the status that other operators read.
func TestStatusOfNetworkConfigIsThatOfTheAppliedNetwork(t *testing.T) {
	kit.Eventually(t, time.Minute, "the configuration is synced", synced("True", "AsExpected"))
	n, err := networkConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	network, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := configv1.NetworkStatus{ClusterNetwork: n.Spec.ClusterNetwork, ServiceNetwork: n.Spec.ServiceNetwork, NetworkType: n.Spec.NetworkType,
		ClusterNetworkMTU: n.Status.ClusterNetworkMTU, Conditions: n.Status.Conditions}
	if diff := cmp.Diff(want, n.Status); diff != "" {
		t.Error(diff)
	}
	if n.Status.ClusterNetworkMTU < 1280 || n.Status.ClusterNetworkMTU > 9000 {
		t.Errorf("the MTU is %d", n.Status.ClusterNetworkMTU)
	}
	if got := string(network.Spec.DefaultNetwork.Type); got != n.Status.NetworkType {
		t.Errorf("the type is %s and %s", got, n.Status.NetworkType)
	}
}

// TestUnsafeEditOfNetworkConfigIsNotApplied tests that the API server refuses the edit. If it is stored nevertheless, the conditions of
// Network.config and of the ClusterOperator report it, and the network does not change.
func TestUnsafeEditOfNetworkConfigIsNotApplied(t *testing.T) {
	before, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pods, err := lab.PodUIDs(t.Context(), kit.FlannelNamespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	const unsafe = `{"spec":{"clusterNetwork":[{"cidr":"10.250.0.0/16","hostPrefix":23}]}}`
	_, err = lab.Kubectl(t.Context(), "patch", "network.config.openshift.io", "cluster", "--type=merge", "-p", unsafe)
	if err == nil || !strings.Contains(err.Error(), "pods would keep their old addresses") {
		t.Errorf("the API server answers %v", err)
	}
	undo := setNetworkConfig(t, func(s *configv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.250.0.0/16" })
	kit.Eventually(t, time.Minute, "Network.config reports the refusal", synced("False", "UnsafeClusterConfig", "spec.clusterNetwork[0].cidr", "10.250.0.0/16"))
	kit.Eventually(t, time.Minute, "the ClusterOperator reports the refusal", func(ctx context.Context) error {
		o, err := clusterOperator(ctx)
		if err != nil {
			return err
		}
		for _, c := range o.Status.Conditions {
			if c.Type == configv1.OperatorDegraded && c.Status == configv1.ConditionTrue && strings.Contains(c.Message, "10.250.0.0/16") {
				return nil
			}
		}
		return fmt.Errorf("ClusterOperator network has %+v", o.Status.Conditions)
	})
	after, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("the refused edit was recorded:\n%s", diff)
	}
	undo()
	kit.Eventually(t, time.Minute, "the restored configuration is synced", synced("True", "AsExpected"))
	kit.Eventually(t, time.Minute, "the ClusterOperator reports no problem", clusterOperatorSettled)
	if now, err := lab.PodUIDs(t.Context(), kit.FlannelNamespace, nil); err != nil || fmt.Sprint(now) != fmt.Sprint(pods) {
		t.Errorf("flannel's pods were %v and are %v, %v", pods, now, err)
	}
}

// TestEditOfNetworkOperatorBelowNetworkConfigIsReverted tests that the fields of Network.config take precedence.
func TestEditOfNetworkOperatorBelowNetworkConfigIsReverted(t *testing.T) {
	want, err := networkConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}},"spec":{"serviceNetwork":["10.251.0.0/16"]}}`, allowUnsafe)
	if _, err := lab.Kubectl(t.Context(), "patch", "network.operator.openshift.io", "cluster", "--type=merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := lab.Kubectl(ctx, "annotate", "network.operator.openshift.io", "cluster", allowUnsafe+"-"); err != nil {
			t.Error(err)
		}
	})
	kit.Eventually(t, time.Minute, "the edit is reverted", func(ctx context.Context) error {
		n, err := lab.Network(ctx)
		if err == nil && !slices.Equal(n.Spec.ServiceNetwork, want.Spec.ServiceNetwork) {
			return fmt.Errorf("services are %v", n.Spec.ServiceNetwork)
		}
		return err
	})
	settled(t)
}
