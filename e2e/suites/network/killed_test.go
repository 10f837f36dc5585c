package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// uninstall removes the operator, everything that it deployed, and its records, but not the CRDs.
func uninstall(ctx context.Context) error {
	allow := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+kit.AllowDeletion+`":"true"}}}`))
	namespaces := append(network.Operands().Names(func(n provider.OperandNamespace) bool { return n.Protected }), kit.OperatorNamespace)
	for _, name := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := lab.Client.Patch(ctx, ns, allow); client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := lab.Client.Delete(ctx, ns); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return kit.Poll(ctx, 2*time.Minute, func(ctx context.Context) error {
		for _, ns := range namespaces {
			if err := lab.Client.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("namespace %s still exists (%w)", ns, err)
			}
		}
		return nil
	})
}

func TestInstallationKilledAtRandomPointsConverges(t *testing.T) {
	kit.Full(t)
	// Permissions in a namespace end while it is being deleted.
	lab.Excuse(t)
	if err := uninstall(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lab.InstallOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const most, enough = 8, 3
	kills, start := 0, time.Now()
	for kills < most && (kills < enough || time.Since(start) < 40*time.Second) {
		if limit := 5 * time.Minute; time.Since(start) > limit {
			t.Fatalf("within %s the operator was killed %d times only: it does not start", limit, kills)
		}
		time.Sleep(time.Duration(50+random.IntN(1500)) * time.Millisecond)
		killed, err := lab.Kill(t.Context(), "/usr/bin/cluster-network-operator start")
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			kills++
			// The kubelet restarts a container that fails repeatedly with back-off; a new pod starts at once.
			if err := lab.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(kit.OperatorNamespace),
				client.GracePeriodSeconds(0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("killed %d times", kills)
	kit.Eventually(t, 3*time.Minute, "the network is available", lab.Settled)
	kit.Eventually(t, time.Minute, "the nodes are ready", lab.NodesReady)
	for _, ds := range network.Agents() {
		if err := lab.Client.Get(t.Context(), ds, &appsv1.DaemonSet{}); err != nil {
			t.Error(err)
		}
	}
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	for node, pod := range pods {
		kit.Eventually(t, time.Minute, "pods talk from "+node, func(ctx context.Context) error {
			return lab.Ping(ctx, pod, pods["worker-0"].Status.PodIP)
		})
	}
}
