package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NodeReady returns nil if a node is Ready. Otherwise the error has the kubelet's message, and the state of the containers that do not
// run in pods of the host network on the node, which include those of the cluster network.
func (k *Kit) NodeReady(ctx context.Context, name string) error {
	node := &corev1.Node{}
	if err := k.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	if IsReady(node) {
		return nil
	}
	causes := []string{"node " + name + " is not ready"}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			causes = append(causes, c.Message)
		}
	}
	pods := &corev1.PodList{}
	if err := k.Client.List(ctx, pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", name)}); err != nil {
		return err
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.HostNetwork {
			causes = append(causes, stopped(&pods.Items[i])...)
		}
	}
	return errors.New(strings.Join(causes, "; "))
}

// stopped describes each container of a pod that waits, has failed or is not ready.
func stopped(pod *corev1.Pod) []string {
	var found []string
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		where := fmt.Sprintf("pod %s/%s, container %s", pod.Namespace, pod.Name, s.Name)
		switch state := s.State; {
		case state.Waiting != nil:
			found = append(found, fmt.Sprintf("%s is waiting: %s %s", where, state.Waiting.Reason, state.Waiting.Message))
		case state.Terminated != nil && state.Terminated.ExitCode != 0:
			found = append(found, fmt.Sprintf("%s exited with status %d: %s", where, state.Terminated.ExitCode, state.Terminated.Message))
		case state.Running != nil && !s.Ready:
			found = append(found, fmt.Sprintf("%s is running but not ready, after %d restarts", where, s.RestartCount))
		}
	}
	return found
}

// IsReady reports whether a node is Ready.
func IsReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
