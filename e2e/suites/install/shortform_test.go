package install

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestShortFormIsSufficient(t *testing.T) {
	fresh(t)
	apply(t, sample(t, "networkconfig-flannel.yaml"))
	settles(t)
	kit.Eventually(t, time.Minute, "the NetworkConfig has the status of the Network", mirrors)
	if err := lab.Mesh(t.Context(), lab.ServerOnEachNode(t, lab.Namespace(t), nil)); err != nil {
		t.Error(err)
	}
	t.Run("a refused change is forced by deleting applied-default", forcesThroughAppliedDefault)
	t.Run("a Network with another value takes precedence, and no object flaps", networkWins)
}

func shortForm(ctx context.Context) (*networkoperatorv1.NetworkConfig, error) {
	c := &networkoperatorv1.NetworkConfig{}
	return c, lab.Client.Get(ctx, client.ObjectKey{Name: networkoperatorv1.NetworkConfigName}, c)
}

// synced returns nil if the condition Synced of the short form has a status, a reason and a word in its message.
func synced(ctx context.Context, status osv1.ConditionStatus, reason, word string) error {
	c, err := shortForm(ctx)
	if err != nil {
		return err
	}
	for _, s := range c.Status.Conditions {
		if s.Type == "Synced" && s.Status == status && s.Reason == reason && strings.Contains(s.Message, word) {
			return nil
		}
	}
	return fmt.Errorf("conditions are %v", c.Status.Conditions)
}

// mirrors returns nil if the short form is synced and has the conditions and the version of the Network.
func mirrors(ctx context.Context) error {
	if err := synced(ctx, osv1.ConditionTrue, "AsExpected", ""); err != nil {
		return err
	}
	c, err := shortForm(ctx)
	if err != nil {
		return err
	}
	n, err := lab.Network(ctx)
	if err != nil {
		return err
	}
	own := c.Status.Conditions[:len(c.Status.Conditions)-1]
	if diff := cmp.Diff(n.Status.Conditions, own); diff != "" || c.Status.Version != n.Status.Version || n.Status.Version == "" {
		return fmt.Errorf("versions %q and %q; conditions: %s", n.Status.Version, c.Status.Version, diff)
	}
	return nil
}

func editShortForm(t *testing.T, change func(*networkoperatorv1.NetworkConfigSpec)) {
	t.Helper()
	kit.Eventually(t, time.Minute, "the short form can be edited", func(ctx context.Context) error {
		c, err := shortForm(ctx)
		if err != nil {
			return err
		}
		// Without it the API server does not store an unsafe change, which is forced here.
		c.Annotations = map[string]string{"networkoperator.openshift.io/allow-unsafe": "true"}
		change(&c.Spec)
		return lab.Client.Update(ctx, c)
	})
}

func forcesThroughAppliedDefault(t *testing.T) {
	editShortForm(t, func(s *networkoperatorv1.NetworkConfigSpec) {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: new(uint32(1400))}
	})
	kit.Eventually(t, time.Minute, "the change is refused first", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Degraded", "True", "InvalidOperatorConfig", "mtu", "1500", "1400")
	})
	kit.Eventually(t, time.Minute, "the NetworkConfig reports the refusal, too", mirrors)
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kit.OperatorNamespace, Name: "applied-default"}}
	if err := lab.Client.Delete(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the change is rolled out", func(ctx context.Context) error {
		subnet, err := lab.Lab(ctx, "exec", "worker-0", "--", "cat", "/run/flannel/subnet.env")
		if err != nil || !strings.Contains(subnet, "FLANNEL_MTU=1400") {
			return fmt.Errorf("subnet.env: %s (%w)", subnet, err)
		}
		return lab.Settled(ctx)
	})
	kit.Eventually(t, time.Minute, "the history has the change as forced, and the record is recreated", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil {
			return err
		}
		history := &corev1.ConfigMap{}
		if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: kit.OperatorNamespace, Name: "applied-history"}, history); err != nil {
			return err
		}
		var revisions []struct{ Forced bool }
		if err := json.Unmarshal([]byte(history.Data["revisions"]), &revisions); err != nil {
			return err
		}
		if len(revisions) != 2 || revisions[0].Forced || !revisions[1].Forced {
			return fmt.Errorf("revisions: %v", revisions)
		}
		return nil
	})
}

func networkWins(t *testing.T) {
	period := func(n *operatorv1.Network) string {
		if n.Spec.KubeProxyConfig == nil {
			return ""
		}
		return n.Spec.KubeProxyConfig.IptablesSyncPeriod
	}
	set := func(value string) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"kubeProxyConfig":{"iptablesSyncPeriod":"`+value+`"}}}`))
		if err := lab.Client.Patch(t.Context(), &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	set("45s")
	editShortForm(t, func(s *networkoperatorv1.NetworkConfigSpec) {
		s.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "60s"}
	})
	kit.Eventually(t, time.Minute, "one condition names the field and the object that takes precedence", func(ctx context.Context) error {
		return synced(ctx, osv1.ConditionFalse, "NetworkDiffers", "iptablesSyncPeriod; it takes precedence over this object")
	})
	settles(t)
	versions := func() (string, string) {
		n, err := lab.Network(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := period(n); got != "45s" {
			t.Fatalf("the Network has iptablesSyncPeriod %q", got)
		}
		c, err := shortForm(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n.ResourceVersion, c.ResourceVersion
	}
	time.Sleep(time.Second) // the last status of the rollout is mirrored
	network, config := versions()
	time.Sleep(5 * time.Second)
	if n, c := versions(); n != network || c != config {
		t.Errorf("without an edit, the Network changed from version %s to %s and the NetworkConfig from %s to %s", network, n, config, c)
	}
	set("60s")
	kit.Eventually(t, time.Minute, "the NetworkConfig is synced again", mirrors)
	settles(t)
}
