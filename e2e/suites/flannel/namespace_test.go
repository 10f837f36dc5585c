package flannel

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestDeletedNamespaceOfTheNetworkIsRecreatedWithItsObjects(t *testing.T) {
	kit.Full(t)
	// While the namespace is being deleted, the permission to create certificates in it is missing.
	lab.Excuse(t)
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	routes, err := lab.Routes(t.Context(), "worker-0")
	if err != nil {
		t.Fatal(err)
	}
	old := &corev1.Namespace{}
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Name: kit.FlannelNamespace}, old); err != nil {
		t.Fatal(err)
	}
	refused := lab.Client.Delete(t.Context(), old.DeepCopy())
	if refused == nil || !strings.Contains(refused.Error(), kit.AllowDeletion) {
		t.Fatalf("the deletion is not refused: %v", refused)
	}
	patch := []byte(`{"metadata":{"annotations":{"` + kit.AllowDeletion + `":"true"}}}`)
	if err := lab.Client.Patch(t.Context(), old.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	if err := lab.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kit.FlannelNamespace}}); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the namespace is recreated", func(ctx context.Context) error {
		fresh := &corev1.Namespace{}
		if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(old), fresh); err != nil || fresh.UID != old.UID {
			return err
		}
		if err := lab.Mesh(ctx, pods); err != nil {
			t.Fatalf("traffic while the namespace is being deleted: %v", err)
		}
		return context.DeadlineExceeded
	})
	// The conditions change a little later. etcd was recreated, too: the data of the previous one is lost.
	kit.Eventually(t, time.Minute, "every node has its lease in the new etcd", func(ctx context.Context) error {
		leases, err := lab.Etcdctl(ctx, "cp-0", "get", "--prefix", "--keys-only", "/coreos.com/network/subnets/")
		if err == nil && len(strings.Fields(leases)) != len(pods) {
			err = fmt.Errorf("leases of %d nodes: %s", len(pods), leases)
		}
		return err
	})
	kit.Eventually(t, time.Minute, "the network is settled again", lab.Settled)
	after, err := lab.Routes(t.Context(), "worker-0")
	if err != nil || after != routes {
		t.Errorf("routes before:\n%safter (%v):\n%s", routes, err, after)
	}
	pod, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "later", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	pods["later"] = pod
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
}
