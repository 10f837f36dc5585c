package network

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const further = `{"apiVersion":"k8s.cni.cncf.io/v1","kind":"NetworkAttachmentDefinition","metadata":{"namespace":%q,"name":"further"},
"spec":{"config":"{\"cniVersion\":\"1.0.0\",\"type\":\"bridge\",\"bridge\":\"br-further\",\"ipam\":{\"type\":\"host-local\",\"subnet\":\"198.51.100.0/24\"}}"}}`

// A pod gets the further network that it requests in addition to the pod network, also where a third party installs the pod network.
func TestAPodGetsAFurtherNetwork(t *testing.T) {
	kit.Eventually(t, 3*time.Minute, "the daemons of further networks are ready", func(ctx context.Context) error {
		_, err := lab.Kubectl(ctx, "rollout", "status", "daemonset/multus", "-n", "openshift-multus", "--timeout=5s")
		return err
	})
	ns := lab.Namespace(t)
	if _, err := lab.KubectlInput(t.Context(), fmt.Sprintf(further, ns), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	asking := kit.ServerPod(ns, "asking", "worker-0", nil)
	asking.Annotations = map[string]string{"k8s.v1.cni.cncf.io/networks": "further"}
	asking, err := lab.RunPod(t.Context(), asking)
	if err != nil {
		t.Fatalf("%v\n%s", err, kubectl(t, "get", "events", "-n", ns))
	}
	plain, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "plain", "worker-1", nil))
	if err != nil {
		t.Fatal(err)
	}
	out, err := lab.Exec(t.Context(), asking, "ip -o -4 address show dev net1")
	if err != nil || !strings.Contains(out, "198.51.100.") {
		t.Errorf("the pod does not have its further network: %s %v", out, err)
	}
	kit.Eventually(t, time.Minute, "the pod network works, too", func(ctx context.Context) error { return lab.Ping(ctx, asking, plain.Status.PodIP) })
	kubectl(t, "delete", "pod", "-n", ns, "asking", "plain", "--timeout=2m")
	kit.Eventually(t, time.Minute, "nothing of the pod is left on its node", func(ctx context.Context) error {
		left, err := lab.Lab(ctx, "exec", "worker-0", "--", "sh", "-c", "ls /var/lib/cno/multus/sandboxes 2>/dev/null; true")
		if err == nil && strings.TrimSpace(left) != "" {
			err = errors.New(left)
		}
		return err
	})
}
