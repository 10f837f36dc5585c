package kit

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Agnhost is the image of test pods. The lab loads it into every node.
const Agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"

// ServerPod returns a pod on a given node that serves its name (/hostname) and the address of the client (/clientip)
// over HTTP on port 8080. It has a shell with ping, curl and dig.
func ServerPod(namespace, name, node string, labels map[string]string) *corev1.Pod {
	grace := int64(0)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName:                      node,
			TerminationGracePeriodSeconds: &grace,
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name:            "agnhost",
				Image:           Agnhost,
				ImagePullPolicy: corev1.PullIfNotPresent,
				Args:            []string{"netexec", "--http-port=8080", "--udp-port=8080"},
				// A startup probe checks once that commands can be run; a readiness probe would use CPU time permanently.
				StartupProbe: &corev1.Probe{
					ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}},
					PeriodSeconds: 1,
				},
			}},
		},
	}
}

// RunPod creates a pod, waits until it is ready, and returns the live object.
func (k *Kit) RunPod(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if err := k.Client.Create(ctx, pod); err != nil {
		return nil, err
	}
	return pod, Poll(ctx, 90*time.Second, func(ctx context.Context) error {
		if err := k.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.Status.PodIP != "" {
				return nil
			}
		}
		return fmt.Errorf("pod %s on %s is not ready: %s %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Message)
	})
}

// Exec runs a shell command in a pod, and returns its standard output without surrounding space.
func (k *Kit) Exec(ctx context.Context, pod *corev1.Pod, command string) (string, error) {
	out, err := k.Kubectl(ctx, "exec", "-n", pod.Namespace, pod.Name, "--", "sh", "-c", command)
	return strings.TrimSpace(out), err
}

// Ping sends one echo request from a pod to an address.
func (k *Kit) Ping(ctx context.Context, from *corev1.Pod, address string) error {
	_, err := k.Exec(ctx, from, "ping -c1 -W2 "+address)
	return err
}

// Get fetches a URL from inside a pod.
func (k *Kit) Get(ctx context.Context, from *corev1.Pod, url string) (string, error) {
	return k.Exec(ctx, from, "curl -sS --fail --max-time 3 '"+url+"'")
}
