package controller

import (
	"context"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// TestReportsOfAgentsTriggerAReconcile runs the loop in a manager, as the operator does: what an agent writes to etcd is
// reported without waiting for the next observation.
func TestReportsOfAgentsTriggerAReconcile(t *testing.T) {
	w, etcd := plain(t)
	w.Node("n", 1, false)
	w.Apply()
	scheme, err := apitest.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := manager.New(w.Server.Config, manager.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var findings []status.Finding
	loop := New(Deps{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Namespace: operatorNamespace, Report: func(f ...status.Finding) {
		mu.Lock()
		defer mu.Unlock()
		findings = f
	}})
	if err := loop.setup(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	soon(t, "the network configuration is written", func() bool { return kept(t, etcd)["config"] != "" })
	tell(t, etcd, agentconfig.AgentStatus{Node: "n", Errors: []string{"nft is missing"}})
	soon(t, "the complaint is reported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(findings) == 1 && strings.Contains(findings[0].Message, "node n: nft is missing")
	})
	config := &corev1.ConfigMap{}
	config.Namespace, config.Name = record.Namespace, record.ConfigMap
	if err := w.API.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	soon(t, "nothing is reported for a deleted network", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(findings) == 0
	})
}

// soon waits for less than it takes until the controller observes again on its own.
func soon(t *testing.T, what string, condition func() bool) {
	t.Helper()
	eventually.HoldsWithin(t, etcdmanager.Later/2, what, func() (string, bool) { return "not so", condition() })
}
