package networkfeatures

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

func newController(c client.Client) *Controller {
	return &Controller{Client: c, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler),
		Policies: func(t operatorv1.NetworkType) (provider.PolicySupport, bool) {
			return provider.PolicySupport{Egress: t == "OVNKubernetes"}, t != "acme"
		}}
}

// TestTheConfigMapFollowsTheAppliedNetwork covers the lifecycle of the ConfigMap.
func TestTheConfigMapFollowsTheAppliedNetwork(t *testing.T) {
	server := apitest.Shared(t)
	c := newController(server.Client)
	reconciled := func() reconcile.Result {
		t.Helper()
		result, err := c.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	read := func() (*corev1.ConfigMap, error) {
		cm := &corev1.ConfigMap{}
		return cm, server.Client.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: ConfigMapName}, cm)
	}
	if result := reconciled(); result.RequeueAfter != 0 {
		t.Errorf("without a network the controller checks again after %v", result.RequeueAfter)
	}
	applied := &networkoperatorv1.NetworkGuard{ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkGuardName}, Data: map[string]string{"spec.defaultNetwork.type": "Flannel"}}
	server.Create(t, applied)
	if result := reconciled(); result.RequeueAfter != retryInterval {
		t.Errorf("without the namespace the controller checks again after %v", result.RequeueAfter)
	}
	// No controller of this server empties namespaces that are deleted.
	if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		t.Fatal(err)
	}
	reconciled()
	cm, err := read()
	if diff := cmp.Diff(map[string]string{"policy_egress": "false", "policy_peer_ipblock_exceptions": "false"}, cm.Data); err != nil || diff != "" {
		t.Fatalf("features of Flannel (-want +got): %v\n%s", err, diff)
	}
	version := cm.ResourceVersion
	reconciled()
	if cm, _ = read(); cm.ResourceVersion != version {
		t.Error("a ConfigMap that is right is written again")
	}
	cm.Data[keyEgress], cm.Data["mine"] = "true", "kept"
	if err := server.Client.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	reconciled()
	if cm, _ = read(); cm.Data[keyEgress] != "false" || cm.Data["mine"] != "kept" {
		t.Errorf("after an edit the data is %v", cm.Data)
	}
	for _, row := range []struct {
		kind   string
		exists bool
		egress string
	}{{"OVNKubernetes", true, "true"}, {"acme", false, ""}, {"acme", false, ""}, {"Flannel", true, "false"}} {
		applied.Data = map[string]string{"spec.defaultNetwork.type": row.kind}
		if err := server.Client.Update(t.Context(), applied); err != nil {
			t.Fatal(err)
		}
		reconciled()
		if cm, err = read(); apierrors.IsNotFound(err) == row.exists || cm.Data[keyEgress] != row.egress {
			t.Errorf("with %s there is %v, %v", row.kind, cm.Data, err)
		}
	}
}

// refusing is a client that reads a NetworkGuard, and writes nothing.
type refusing struct{ client.Client }

func (refusing) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if g, ok := o.(*networkoperatorv1.NetworkGuard); ok {
		g.Data = map[string]string{"spec.defaultNetwork.type": "Flannel"}
		return nil
	}
	return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
}

func (refusing) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("no room")
}

func TestAFailureIsAFindingOfTheController(t *testing.T) {
	c := newController(refusing{})
	if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("there is no error")
	}
	want := []status.Finding{{Component: "NetworkFeatures", Effect: status.Degraded, Reason: "NetworkFeaturesError", Aside: true,
		Message: "The console does not know which NetworkPolicies the network enforces: apply ConfigMap: no room"}}
	if found, _, _ := c.Board.Snapshot(); cmp.Diff(want, found) != "" {
		t.Errorf("findings (-want +got):\n%s", cmp.Diff(want, found))
	}
}
