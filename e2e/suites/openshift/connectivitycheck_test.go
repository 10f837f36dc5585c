package openshift

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// reachable returns nil if there are checks between all nodes and all of them report that their target is reachable.
func reachable(ctx context.Context) error {
	var checks operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckList
	if err := lab.Client.List(ctx, &checks, client.InNamespace(kit.DiagnosticsNamespace)); err != nil {
		return err
	}
	between := 0
	var wrong []string
	for _, c := range checks.Items {
		if strings.Contains(c.Name, "-to-network-check-target-") && !strings.HasSuffix(c.Name, "-service-cluster") {
			between++
		}
		ok := false
		message := "has no result"
		for _, condition := range c.Status.Conditions {
			ok, message = condition.Status == metav1.ConditionTrue, condition.Message
		}
		// An installer creates the names of load balancers; in the lab they cannot be resolved, which is reported for the component only.
		if !ok && !strings.Contains(c.Name, "-to-load-balancer-") {
			wrong = append(wrong, c.Name+" "+message)
		}
	}
	if want := 3 * 2; between != want || len(wrong) > 0 {
		return fmt.Errorf("%d checks between nodes, want %d; not reachable: %s", between, want, strings.Join(wrong, "; "))
	}
	return nil
}

// diagnosticsAvailable returns nil if the condition of Network.config has a status and a reason.
func diagnosticsAvailable(status metav1.ConditionStatus, reason string) func(context.Context) error {
	return func(ctx context.Context) error {
		var config configv1.Network
		if err := lab.Client.Get(ctx, client.ObjectKey{Name: "cluster"}, &config); err != nil {
			return err
		}
		c := meta.FindStatusCondition(config.Status.Conditions, "NetworkDiagnosticsAvailable")
		if c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	}
}

// TestEveryNodeIsCheckedFromTwoOthers also tests the checks of services and of the API server's endpoint from every source.
func TestEveryNodeIsCheckedFromTwoOthers(t *testing.T) {
	kit.Eventually(t, 3*time.Minute, "everything is reachable", reachable)
	kit.Eventually(t, time.Minute, "Network.config reports it", diagnosticsAvailable(metav1.ConditionTrue, "AsExpected"))
}

// TestAnUnpluggedNodeIsNamed tests that a node is named after it has been unreachable for two minutes, and until it is reachable. The network
// is not degraded by an unreachable node.
func TestAnUnpluggedNodeIsNamed(t *testing.T) {
	kit.Full(t)
	kit.Eventually(t, 3*time.Minute, "everything is reachable", reachable)
	if _, err := lab.Lab(t.Context(), "unplug", "worker-1"); err != nil {
		t.Fatal(err)
	}
	plugged := false
	plug := func(ctx context.Context) error {
		plugged = true
		_, err := lab.Lab(ctx, "plug", "worker-1")
		return err
	}
	t.Cleanup(func() {
		if !plugged {
			if err := plug(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	start := time.Now()
	kit.Eventually(t, 6*time.Minute, "the node is named", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "NetworkDiagnosticsDegraded", "True", "NodeUnreachable", "Node worker-1", "cannot be reached from pods on cp-0 and worker-0")
	})
	t.Logf("named after %s", time.Since(start).Round(time.Second))
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c := kit.Condition(n, "Degraded"); strings.Contains(c.Message, "worker-1 cannot be reached") || strings.Contains(c.Message, "worker-0 cannot") {
		t.Errorf("an unreachable node degrades the network: %+v", c)
	}
	if c := kit.Condition(n, "NetworkDiagnosticsDegraded"); strings.Contains(c.Message, "Node cp-0") || strings.Contains(c.Message, "Node worker-0") {
		t.Errorf("other nodes are named, too: %s", c.Message)
	}
	start = time.Now()
	if err := plug(t.Context()); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "the node is no longer named", func(ctx context.Context) error {
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		if c := kit.Condition(n, "NetworkDiagnosticsDegraded"); strings.Contains(c.Message, "Node ") {
			return fmt.Errorf("the condition is %+v", c)
		}
		return nil
	})
	t.Logf("cleared after %s", time.Since(start).Round(time.Second))
	if err := lab.WaitSettled(t.Context(), 3*time.Minute); err != nil {
		t.Error(err)
	}
}

// TestDiagnosticsAreTurnedOffAndOn tests that no objects are left, and that the API server refuses no request.
func TestDiagnosticsAreTurnedOffAndOn(t *testing.T) {
	kit.Full(t)
	mode := func(ctx context.Context, to string) error {
		patch := []byte(fmt.Sprintf(`{"spec":{"networkDiagnostics":{"mode":%q,"sourcePlacement":null,"targetPlacement":null}}}`, to))
		return lab.Client.Patch(ctx, &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}, client.RawPatch(types.MergePatchType, patch))
	}
	lab.Excuse(t) // sources are still running when their permissions are deleted with the namespace
	if err := mode(t.Context(), "Disabled"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mode(context.Background(), ""); err != nil {
			t.Error(err)
		}
	})
	kit.Eventually(t, 2*time.Minute, "the namespace is deleted", func(ctx context.Context) error {
		_, err := lab.Kubectl(ctx, "get", "namespace", kit.DiagnosticsNamespace)
		if err == nil {
			return fmt.Errorf("it still exists")
		}
		if !strings.Contains(err.Error(), "NotFound") {
			return err
		}
		return nil
	})
	if err := mode(t.Context(), "All"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 3*time.Minute, "everything is checked again", reachable)
}
