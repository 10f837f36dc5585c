package toy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const namespace = "openshift-toy"

func TestPodsOfAllNodesTalk(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, map[string]string{"app": "server"})
	kit.Eventually(t, time.Minute, "pods of all nodes talk", func(ctx context.Context) error { return lab.Mesh(ctx, pods) })
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if err := lab.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for node, from := range pods {
		kit.Eventually(t, time.Minute, "the service answers pods on "+node, func(ctx context.Context) error {
			_, err := lab.Get(ctx, from, "http://"+s.Spec.ClusterIP+"/hostname")
			return err
		})
	}
}

// TestPodsStartDuringARollingUpdateOfTheAgent: an ADD that finds no agent waits for it. The log has how long pods took to start, before and
// during the update.
func TestPodsStartDuringARollingUpdateOfTheAgent(t *testing.T) {
	ns := lab.Namespace(t)
	start := func(name string) time.Duration {
		t.Helper()
		begun := time.Now()
		if _, err := lab.RunPod(t.Context(), kit.ServerPod(ns, name, "worker-0", nil)); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	var before, during time.Duration
	for i := range 3 {
		before = max(before, start(fmt.Sprintf("before-%d", i)))
	}
	agents := func() map[string]string {
		list := &corev1.PodList{}
		if err := lab.Client.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{"app": "toy-agent"}); err != nil {
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
		_, err := lab.Kubectl(t.Context(), "-n", namespace, "delete", "pods", "-l", "app=toy-agent", "--field-selector=spec.nodeName=worker-0")
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

func TestANodeJoins(t *testing.T) {
	ns := lab.Namespace(t)
	pods := lab.ServerOnEachNode(t, ns, nil)
	name, err := lab.Lab(t.Context(), "add-node")
	if err != nil {
		t.Fatal(err)
	}
	name = strings.TrimSpace(name)
	t.Cleanup(func() { _, _ = lab.Lab(context.Background(), "remove-node", name) })
	kit.Eventually(t, 4*time.Minute, "the node is ready", func(ctx context.Context) error { return lab.NodeReady(ctx, name) })
	joined, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "joined", name, nil))
	if err != nil {
		t.Fatal(err)
	}
	pods[name] = joined
	// Kubelets of the other nodes may take a minute to bring the table of nodes into their pods.
	kit.Eventually(t, 4*time.Minute, "pods of the node talk to all others", func(ctx context.Context) error { return lab.Mesh(ctx, pods) })
}
