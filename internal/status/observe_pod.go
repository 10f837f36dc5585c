package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// OfPod reads the state of a pod. nodeGone says whether its node's kubelet does not answer.
func OfPod(p *corev1.Pod, nodeGone bool) Pod {
	pod := Pod{Name: p.Name, Node: p.Spec.NodeName, NodeGone: nodeGone, Created: p.CreationTimestamp.Time, Since: p.CreationTimestamp.Time}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			pod.Ready = c.Status == corev1.ConditionTrue
			if c.LastTransitionTime.After(pod.Since) {
				pod.Since = c.LastTransitionTime.Time
			}
		}
	}
	if !pod.Ready && p.DeletionTimestamp == nil {
		pod.Trouble, pod.Detail = diagnose(p)
	}
	return pod
}

// diagnose finds the reason why a pod is not ready: that of its first troubled container, init containers
// first, since the others wait for them.
func diagnose(p *corev1.Pod) (Trouble, string) {
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			if trouble, detail := diagnoseContainer(&statuses[i]); trouble != "" {
				return trouble, detail
			}
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return Failed, firstLine(p.Status.Reason, p.Status.Message)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return Unschedulable, firstLine(c.Message)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return NotReady, firstLine(c.Message)
		}
	}
	return NotReady, ""
}

func diagnoseContainer(c *corev1.ContainerStatus) (Trouble, string) {
	if w := c.State.Waiting; w != nil {
		switch w.Reason {
		case "CrashLoopBackOff":
			return CrashLoop, lastExit(c)
		case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
			return ImagePull, fmt.Sprintf("container %s: image %s: %s", c.Name, c.Image, firstLine(w.Reason, w.Message))
		case "CreateContainerError", "CreateContainerConfigError", "RunContainerError":
			return CreateFailed, fmt.Sprintf("container %s: %s", c.Name, firstLine(w.Reason, w.Message))
		}
	}
	ended := c.State.Terminated != nil && c.State.Terminated.ExitCode != 0
	if c.RestartCount >= manyRestarts && (ended || !c.Ready && c.LastTerminationState.Terminated != nil && c.State.Terminated == nil) {
		return CrashLoop, lastExit(c)
	}
	return "", ""
}

// lastExit tells how a container ended last.
func lastExit(c *corev1.ContainerStatus) string {
	end := c.State.Terminated
	if end == nil {
		end = c.LastTerminationState.Terminated
	}
	if end == nil {
		return fmt.Sprintf("container %s, %d restarts", c.Name, c.RestartCount)
	}
	text := fmt.Sprintf("container %s ended with exit code %d", c.Name, end.ExitCode)
	if why := firstLine(end.Reason, end.Message); why != "" && why != "Error" {
		text += ": " + why
	}
	return fmt.Sprintf("%s, %d restarts", text, c.RestartCount)
}

// firstLine joins the first lines of texts that are not empty, shortened to what fits in a condition.
func firstLine(texts ...string) string {
	const longest = 200
	var parts []string
	for _, text := range texts {
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if len(line) > longest {
			line = strings.ToValidUTF8(line[:longest], "") + "..."
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, ": ")
}
