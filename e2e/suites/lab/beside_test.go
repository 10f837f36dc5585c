package lab

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// cluster creates a lab with the option for its name, and returns the UID that identifies its cluster.
func cluster(t *testing.T, k *kit.Kit) types.UID {
	t.Helper()
	if _, err := k.Lab(t.Context(), "up", "--name", k.Name(), "--workers", "1"); err != nil {
		t.Fatal(err)
	}
	if err := k.Connect(); err != nil {
		t.Fatal(err)
	}
	var system corev1.Namespace
	if err := k.Client.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, &system); err != nil {
		t.Fatal(err)
	}
	return system.UID
}

// TestTwoLabsRunSideBySide creates two labs at the same time, each with a cluster, and removes one while the other runs.
func TestTwoLabsRunSideBySide(t *testing.T) {
	other, err := checkout.Beside()
	if err != nil {
		t.Fatal(err)
	}
	labs := []*kit.Kit{checkout, other}
	t.Cleanup(func() {
		for _, k := range labs {
			if _, err := k.Lab(context.Background(), "down"); err != nil {
				t.Error(err)
			}
			for _, left := range leftovers(t, k) {
				t.Errorf("lab %q: %s is left", k.Name(), left)
			}
		}
	})
	uids := make([]types.UID, len(labs))
	t.Run("up", func(t *testing.T) {
		for i, k := range labs {
			t.Run("lab "+k.Name(), func(t *testing.T) {
				t.Parallel()
				uids[i] = cluster(t, k)
			})
		}
	})
	if t.Failed() {
		return
	}
	if uids[0] == uids[1] {
		t.Fatal("both labs have one cluster")
	}
	alone := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "alone"}}
	if err := other.Client.Create(t.Context(), alone); err != nil {
		t.Fatal(err)
	}
	if err := checkout.Client.Get(t.Context(), client.ObjectKeyFromObject(alone), &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object of one cluster is in the other: %v", err)
	}

	lab(t, "down")
	for _, left := range leftovers(t, checkout) {
		t.Errorf("while the other lab runs: %s is left", left)
	}
	kit.Eventually(t, time.Minute, "nodes of the other lab are registered", func(ctx context.Context) error {
		for _, name := range []string{"cp-0", "worker-0"} {
			if err := other.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{}); err != nil {
				return err
			}
		}
		return nil
	})
	// Nodes have the same addresses in every lab: the worker reaches the API server of its own.
	if _, err := other.Lab(t.Context(), "exec", "worker-0", "--", "ping", "-c1", "-W2", "10.89.0.11"); err != nil {
		t.Error(err)
	}
}
