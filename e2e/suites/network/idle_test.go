package network

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// The first connection to an idled Service starts its pods, and is answered.
func TestIdledServiceIsWoken(t *testing.T) {
	if !network.Unidles {
		return
	}
	ns := lab.Namespace(t)
	template := kit.ServerPod("", "", "worker-1", kit.Served())
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: kit.Served()},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: kit.Served()}, Spec: template.Spec},
	}}
	s := kit.Service(ns, "web", func(*corev1.ServiceSpec) {})
	if err := lab.Client.Create(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	if err := lab.Client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	client, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "client", "worker-0", nil))
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + s.Spec.ClusterIP + "/hostname"
	kit.Eventually(t, 2*time.Minute, "the Service answers", func(ctx context.Context) error {
		_, err := lab.Get(ctx, client, url)
		return err
	})
	cno(t, 0, "idle", "web", "-n", ns)
	kit.Eventually(t, time.Minute, "no pod of the Service runs", func(context.Context) error {
		if out := kubectl(t, "get", "pods", "-n", ns, "-l", "app=server", "-o", "name"); out != "" {
			return fmt.Errorf("%s runs", out)
		}
		return nil
	})
	// Until then, kube-proxy forwards connections to the address of the deleted pod, where they are refused.
	kit.Eventually(t, time.Minute, "kube-proxy knows that the Service has no endpoint", func(ctx context.Context) error {
		out, err := lab.Lab(ctx, "exec", "worker-0", "--", "nft", "list", "map", "ip", "kube-proxy", "no-endpoint-services")
		if err == nil && !strings.Contains(out, s.Spec.ClusterIP+" ") {
			return fmt.Errorf("%s is not in %s", s.Spec.ClusterIP, out)
		}
		return err
	})
	// One connection: its packets are held back until a pod is ready.
	if out, err := lab.Exec(t.Context(), client, "curl -sS --fail --max-time 90 "+url); err != nil {
		t.Errorf("the first connection: %q, %v", out, err)
	}
}
