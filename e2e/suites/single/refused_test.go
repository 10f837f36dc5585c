package single

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// edit changes the spec of Network/cluster, and puts it back when the test ends.
func edit(t *testing.T, change func(*operatorv1.NetworkSpec)) {
	t.Helper()
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		err := update(ctx, func(s *operatorv1.NetworkSpec) { *s = n.Spec })
		if err == nil {
			err = kit.Poll(ctx, 2*time.Minute, lab.Settled)
		}
		if err != nil {
			t.Errorf("put Network/cluster back: %v", err)
		}
	})
	if err := update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// editUnsafe does what edit does, for a change that the API server stores only if it is told that it may.
func editUnsafe(t *testing.T, change func(*operatorv1.NetworkSpec)) {
	t.Helper()
	allowUnsafe(t.Context(), t, "true")
	t.Cleanup(func() { allowUnsafe(context.Background(), t, "") })
	edit(t, change)
}

// allowUnsafe annotates Network/cluster.
func allowUnsafe(ctx context.Context, t *testing.T, value string) {
	t.Helper()
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"networkoperator.openshift.io/allow-unsafe":%q}}}`, value)
	if err := lab.Client.Patch(ctx, n, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Error(err)
	}
}

func TestAnUnsafeEditDoesNotGetIn(t *testing.T) {
	err := update(t.Context(), func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.200.0.0/16" })
	if err == nil {
		t.Fatal("the API server stores it")
	}
	for _, want := range []string{"spec.clusterNetwork", "10.244.0.0/16", "10.200.0.0/16", "put the old value back", "cluster-network-change"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not mention %s:\n%v", want, err)
		}
	}
}

// update changes the spec of Network/cluster.
func update(ctx context.Context, change func(*operatorv1.NetworkSpec)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		change(&n.Spec)
		return lab.Client.Update(ctx, n)
	})
}

func TestAnUnsafeEditIsRefusedWhileDriftIsStillRepaired(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	editUnsafe(t, func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork[0].CIDR = "10.200.0.0/16"
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{Backend: operatorv1.FlannelBackendVXLAN}
	})
	kit.Eventually(t, time.Minute, "the refusal names every field, its old and its new value", func(ctx context.Context) error {
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		c := kit.Condition(n, "Degraded")
		for _, want := range []string{"clusterNetwork", "10.244.0.0/16", "10.200.0.0/16", "backend", "host-gw", "vxlan"} {
			if !strings.Contains(c.Message, want) {
				return fmt.Errorf("%s %s: %q does not mention %s", c.Status, c.Reason, c.Message, want)
			}
		}
		if c.Reason != "InvalidOperatorConfig" {
			return fmt.Errorf("reason is %s", c.Reason)
		}
		if a := kit.Condition(n, "Available"); a.Status != "True" {
			return fmt.Errorf("a refused edit made the network unavailable: %s", a.Message)
		}
		return nil
	})

	ds := orphanProxy(t)
	kit.Eventually(t, repaired, "a deleted operand comes back all the same", func(ctx context.Context) error {
		return lab.Client.Get(ctx, client.ObjectKeyFromObject(ds), ds)
	})
	for node, pod := range pods {
		if err := lab.Ping(t.Context(), pod, pods["worker-0"].Status.PodIP); err != nil {
			t.Errorf("traffic from %s during a refusal: %v", node, err)
		}
	}
}
