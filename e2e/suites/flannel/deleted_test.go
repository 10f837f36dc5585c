package flannel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// operandPods returns the pods of all workloads that the operator has deployed.
func operandPods(t *testing.T) map[string][]types.UID {
	t.Helper()
	found := map[string][]types.UID{}
	for name, namespace := range map[string]string{"flanneld": kit.FlannelNamespace, "flannel-etcd": kit.FlannelNamespace, "kube-proxy": kit.ProxyNamespace} {
		uids, err := lab.PodUIDs(t.Context(), namespace, map[string]string{"app": name})
		if err != nil {
			t.Fatal(err)
		}
		if len(uids) == 0 {
			t.Fatalf("%s has no pods", name)
		}
		found[name] = uids
	}
	return found
}

func TestDeletingTheNetworkObjectKeepsTheNetwork(t *testing.T) {
	pods, before := lab.ServerOnEachNode(t, lab.Namespace(t), nil), operandPods(t)
	history := lab.ConfigMap(t, "applied-history").Data
	n, err := lab.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *operatorv1.Network {
		return &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: *n.Spec.DeepCopy()}
	}
	if err := lab.Client.Delete(t.Context(), n); err == nil || !strings.Contains(err.Error(), kit.AllowDeletion) {
		t.Fatalf("the deletion is not refused: %v", err)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, kit.AllowDeletion)
	if err := lab.Client.Patch(t.Context(), n, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	if err := lab.Client.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Client.Create(context.Background(), fresh()); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Error(err)
		}
	})
	restartOperator(t)
	time.Sleep(quiet)
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, operandPods(t)); diff != "" {
		t.Errorf("pods of the network without the object: %s", diff)
	}

	other := fresh()
	other.Spec.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{Backend: operatorv1.FlannelBackendVXLAN}
	if err := lab.Client.Create(t.Context(), other.DeepCopy()); err == nil || !strings.Contains(err.Error(), "host-gw") {
		t.Errorf("another network is accepted: %v", err)
	}
	other.Annotations = map[string]string{"networkoperator.openshift.io/allow-unsafe": "true"}
	if err := lab.Client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the recreated object is compared with the applied configuration", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Degraded", "True", "InvalidOperatorConfig", "backend", "host-gw", "vxlan")
	})
	if err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) { *s = n.Spec }); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the operator manages the network again", lab.Settled)
	if diff := cmp.Diff(before, operandPods(t)); diff != "" {
		t.Errorf("pods of the network after the object was recreated: %s", diff)
	}
	if diff := cmp.Diff(history, lab.ConfigMap(t, "applied-history").Data); diff != "" {
		t.Errorf("the same network was rolled out again: %s", diff)
	}
}
