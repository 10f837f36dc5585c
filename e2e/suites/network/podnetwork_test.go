package network

import (
	"context"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// cno pod-network connects the pods of two namespaces, and separates them again.
func TestNamespacesAreJoinedAndIsolated(t *testing.T) {
	if !network.NetNamespaces || declared(t).Isolation == "" {
		return
	}
	shop, warehouse := lab.Namespace(t), lab.Namespace(t)
	client, err := lab.RunPod(t.Context(), kit.ServerPod(shop, "client", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	server, err := lab.RunPod(t.Context(), kit.ServerPod(warehouse, "server", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	reaches := func(ctx context.Context) error {
		_, err := lab.Get(ctx, client, "http://"+server.Status.PodIP+":8080/hostname")
		return err
	}
	kit.Eventually(t, time.Minute, "namespaces are isolated", denied(reaches))
	// The command returns when both nodes use the VNIDs.
	cno(t, 0, "pod-network", "join-projects", "--to="+shop, warehouse)
	if err := reaches(t.Context()); err != nil {
		t.Errorf("joined namespaces do not connect: %v", err)
	}
	cno(t, 0, "pod-network", "isolate-projects", warehouse)
	if err := denied(reaches)(t.Context()); err != nil {
		t.Errorf("isolated namespaces: %v", err)
	}
}
