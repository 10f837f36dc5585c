package single

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

func TestKubeProxyGoesAndComesWithItsFlag(t *testing.T) {
	s, pods := expose(t, func(*corev1.ServiceSpec) {})
	proxy := client.ObjectKey{Namespace: kit.ProxyNamespace, Name: "openshift-kube-proxy"}
	t.Run("off", func(t *testing.T) {
		off := false
		edit(t, func(spec *operatorv1.NetworkSpec) { spec.DeployKubeProxy = &off })
		kit.Eventually(t, time.Minute, "kube-proxy is removed", func(ctx context.Context) error {
			err := lab.Client.Get(ctx, proxy, &appsv1.DaemonSet{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there, or cannot be asked for: %w", err)
		})
		kit.Eventually(t, time.Minute, "the network is settled without it", lab.Settled)
		if err := lab.Ping(t.Context(), pods["worker-0"], pods["worker-1"].Status.PodIP); err != nil {
			t.Errorf("pods do not need kube-proxy to reach one another: %v", err)
		}
	})
	kit.Eventually(t, time.Minute, "the service answers again", func(ctx context.Context) error {
		_, err := lab.Get(ctx, pods["worker-0"], "http://"+s.Spec.ClusterIP+"/hostname")
		return err
	})
}
