package network

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// pools are the first networks of pods and Services.
type pools struct{ cluster, service string }

// inUse returns the pools of the network, and others of the same IP family.
func inUse(t *testing.T) (now, other pools) {
	t.Helper()
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, other = pools{n.Spec.ClusterNetwork[0].CIDR, n.Spec.ServiceNetwork[0]}, pools{"10.200.0.0/16", "10.97.0.0/16"}
	if strings.Contains(now.cluster, ":") {
		other = pools{"fd45::/48", "fd46::/112"}
	}
	return now, other
}

func TestUnsafeEditIsDeniedAtAdmission(t *testing.T) {
	now, other := inUse(t)
	err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = other.cluster })
	if err == nil {
		t.Fatal("the API server stores an unsafe edit")
	}
	for _, want := range []string{"spec.clusterNetwork", now.cluster, other.cluster, "put the old value back", "cluster-network-change"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not mention %s:\n%v", want, err)
		}
	}
}

func TestAnUnsafeEditIsRefusedWhileDriftIsStillRepaired(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	now, other := inUse(t)
	lab.EditUnsafe(t, func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork[0].CIDR, s.ServiceNetwork[0] = other.cluster, other.service
	})
	kit.Eventually(t, time.Minute, "the refusal names every field, its old and its new value", func(ctx context.Context) error {
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		c := kit.Condition(n, "Degraded")
		for _, want := range []string{"clusterNetwork", now.cluster, other.cluster, "serviceNetwork", now.service, other.service} {
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

	agents := network.Agents()
	ds := lab.Orphan(t, agents[len(agents)-1])
	kit.Eventually(t, kit.Repaired, "a deleted operand is recreated during a refusal", func(ctx context.Context) error {
		return lab.Client.Get(ctx, client.ObjectKeyFromObject(ds), ds)
	})
	for node, pod := range pods {
		if err := lab.Ping(t.Context(), pod, pods["worker-0"].Status.PodIP); err != nil {
			t.Errorf("traffic from %s during a refusal: %v", node, err)
		}
	}
}
