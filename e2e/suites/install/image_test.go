package install

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestAnImageThatIsMissingStopsOnlyWhatNeedsIt(t *testing.T) {
	kit.Full(t)
	fresh(t)
	// A variable of the container overrides the one of the ConfigMap.
	setImage := func(change string) {
		if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "set", "env", "deployment/"+kit.OperatorDeployment, change); err != nil {
			t.Fatal(err)
		}
	}
	setImage("KUBE_PROXY_IMAGE=")
	apply(t, sample(t, "network-flannel-vxlan.yaml"))
	kit.Eventually(t, time.Minute, "one condition names the variable and the component that needs it", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "KubeProxyDegraded", "True", "RenderError", "KUBE_PROXY_IMAGE", "kube-proxy")
	})
	kit.Eventually(t, time.Minute, "the pod network comes up without it", func(ctx context.Context) error {
		if err := lab.HasCondition(ctx, "FlannelAvailable", "True", "AsExpected"); err != nil {
			return err
		}
		if err := lab.HasCondition(ctx, "FlannelDegraded", "False", "AsExpected"); err != nil {
			return err
		}
		return lab.NodesReady(ctx)
	})
	proxy := client.ObjectKey{Namespace: kit.ProxyNamespace, Name: "openshift-kube-proxy"}
	if err := lab.Client.Get(t.Context(), proxy, &appsv1.DaemonSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("kube-proxy was created without an image: %v", err)
	}
	// "NAME-" removes the variable.
	setImage("KUBE_PROXY_IMAGE-")
	settles(t)
	t.Run("vxlan", packetsAreWrapped)
}

// packetsAreWrapped fails unless pods talk across nodes by VXLAN, with an MTU of 50 bytes less than that of the nodes.
func packetsAreWrapped(t *testing.T) {
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
	for node, pod := range pods {
		mtu, err := lab.Exec(t.Context(), pod, "cat /sys/class/net/eth0/mtu")
		if err != nil || mtu != "1450" {
			t.Errorf("on %s a pod has an MTU of %q, want 1450 (%v)", node, mtu, err)
		}
	}
	// 1450 less the headers of IP and ICMP.
	for size, fits := range map[int]bool{1422: true, 1423: false} {
		_, err := lab.Exec(t.Context(), pods["worker-0"], fmt.Sprintf("ping -c1 -W2 -M do -s %d %s", size, pods["worker-1"].Status.PodIP))
		if (err == nil) != fits {
			t.Errorf("%d bytes of data without fragments: %v; want them to fit: %t", size, err, fits)
		}
	}
	routes, err := lab.Routes(t.Context(), "worker-0")
	if err != nil || strings.Count(routes, "dev flannel.1 onlink") != 2 {
		t.Errorf("routes of worker-0 (%v):\n%s", err, routes)
	}
}
