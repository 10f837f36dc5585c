package network

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// TestPodsStartDuringARollingUpdateOfTheAgent tests that an ADD waits while no agent runs. The log has the start-up times of pods before and
// during the update.
func TestPodsStartDuringARollingUpdateOfTheAgent(t *testing.T) {
	kit.Full(t)
	if network.Provider == nil {
		t.Skip("the operator has no agent of this network")
	}
	agent := network.Agents()[0]
	ns := lab.Namespace(t)
	start := func(name string) time.Duration {
		t.Helper()
		started := time.Now()
		if _, err := lab.RunPod(t.Context(), kit.ServerPod(ns, name, "worker-0", nil)); err != nil {
			t.Fatal(err)
		}
		return time.Since(started)
	}
	var before, during time.Duration
	for i := range 3 {
		before = max(before, start(fmt.Sprintf("before-%d", i)))
	}
	agents := func() map[string]string {
		list := &corev1.PodList{}
		if err := lab.Client.List(t.Context(), list, client.InNamespace(agent.Namespace), client.MatchingLabels{"app": agent.Name}); err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, p := range list.Items {
			found[p.Spec.NodeName] = string(p.UID)
		}
		return found
	}
	old := agents()
	// The operator would undo an edit of the DaemonSet: the pods are deleted instead, one after another, as an update does.
	updated := make(chan error, 1)
	go func() {
		_, err := lab.Kubectl(t.Context(), "-n", agent.Namespace, "delete", "pods", "-l", "app="+agent.Name, "--field-selector=spec.nodeName=worker-0")
		updated <- err
	}()
	i := 0
	for ; ; i++ {
		during = max(during, start(fmt.Sprintf("during-%d", i)))
		if now := agents()["worker-0"]; now != "" && now != old["worker-0"] && i > 3 {
			break
		}
	}
	if err := <-updated; err != nil {
		t.Fatal(err)
	}
	t.Logf("the slowest of 3 pods took %s before the update, of %d during it %s", before.Round(10*time.Millisecond), i+1, during.Round(10*time.Millisecond))
	events, err := lab.Kubectl(t.Context(), "-n", ns, "get", "events", "--field-selector=reason=FailedCreatePodSandBox", "-o", "name")
	if err != nil || strings.TrimSpace(events) != "" {
		t.Errorf("sandboxes failed: %s, %v", events, err)
	}
	if err := lab.WaitSettled(t.Context(), 3*time.Minute); err != nil {
		t.Error(err)
	}
}
