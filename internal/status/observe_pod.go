package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// OfPod returns the state of a pod. nodeUnreachable is whether the kubelet of its node does not report.
func OfPod(p *corev1.Pod, nodeUnreachable bool) Pod {
	pod := Pod{Name: p.Name, Node: p.Spec.NodeName, NodeUnreachable: nodeUnreachable, Created: p.CreationTimestamp.Time, Since: p.CreationTimestamp.Time}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			pod.Ready = c.Status == corev1.ConditionTrue
			if c.LastTransitionTime.After(pod.Since) {
				pod.Since = c.LastTransitionTime.Time
			}
		}
	}
	switch {
	case p.DeletionTimestamp != nil:
	case pod.Ready:
		pod.Problem, pod.Detail = crashedOften(p)
	default:
		pod.Problem, pod.Detail = diagnose(p)
	}
	return pod
}

// crashedOften returns CrashLoop if a container of a ready pod has failed repeatedly.
func crashedOften(p *corev1.Pod) (Problem, string) {
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		if end := c.LastTerminationState.Terminated; c.RestartCount >= manyRestarts && end != nil && end.ExitCode != 0 {
			return CrashLoop, lastExit(c)
		}
	}
	return "", ""
}

// diagnose returns the reason why a pod is not ready: that of its first failing container, init containers
// first, since the others wait for them.
func diagnose(p *corev1.Pod) (Problem, string) {
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			if problem, detail := diagnoseContainer(&statuses[i]); problem != "" {
				return problem, detail
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
	if waiting := startingContainer(p); waiting != "" {
		return Starting, waiting
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return NotReady, firstLine(c.Message)
		}
	}
	return Starting, ""
}

// startingContainer describes the container of a pod that is being created, or the init container that runs; "" if there is none.
func startingContainer(p *corev1.Pod) string {
	for _, c := range p.Status.InitContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return fmt.Sprintf("init container %s runs", c.Name)
		}
	}
	for _, c := range append(append([]corev1.ContainerStatus{}, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" {
			return fmt.Sprintf("container %s: %s", c.Name, firstLine(w.Reason, w.Message))
		}
	}
	return ""
}

func diagnoseContainer(c *corev1.ContainerStatus) (Problem, string) {
	if w := c.State.Waiting; w != nil {
		switch w.Reason {
		case "CrashLoopBackOff":
			return CrashLoop, lastExit(c)
		case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
			return ImagePull, pullError(c, w)
		case "CreateContainerError", "CreateContainerConfigError", "RunContainerError", "PreStartHookError", "PostStartHookError":
			return CreateFailed, fmt.Sprintf("container %s: %s", c.Name, firstLine(w.Reason, w.Message))
		}
	}
	end := c.State.Terminated
	if end == nil {
		end = c.LastTerminationState.Terminated
	}
	switch {
	case end == nil || end.ExitCode == 0 && c.State.Terminated != nil:
		return "", ""
	case c.RestartCount >= manyRestarts && !c.Ready:
		return CrashLoop, lastExit(c)
	case !c.Ready && (end.Reason == "OOMKilled" || c.State.Terminated != nil):
		return NotReady, lastExit(c)
	}
	return "", ""
}

// pullError describes an image that cannot be pulled, with the same text for both states between which the kubelet alternates.
func pullError(c *corev1.ContainerStatus, w *corev1.ContainerStateWaiting) string {
	why := w.Message
	if rest, backOff := strings.CutPrefix(why, "Back-off pulling image"); backOff {
		_, why, _ = strings.Cut(rest, "ErrImagePull: ")
	}
	reason := w.Reason
	if reason == "ImagePullBackOff" {
		reason = "ErrImagePull"
	}
	return fmt.Sprintf("container %s: image %s: %s", c.Name, c.Image, firstLine(reason, why))
}

// lastExit describes the last termination of a container.
func lastExit(c *corev1.ContainerStatus) string {
	end := c.State.Terminated
	if end == nil {
		end = c.LastTerminationState.Terminated
	}
	if end == nil {
		return "container " + c.Name
	}
	text := fmt.Sprintf("container %s ended with exit code %d", c.Name, end.ExitCode)
	if why := firstLine(end.Reason, lastMessage(end.Message)); why != "" && why != "Error" {
		text += ": " + why
	}
	return text
}

// lastMessage returns the line of a log with the cause of the termination: that of a panic, or else the last one.
func lastMessage(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// firstLine joins the first lines of the texts that are not empty, each truncated to 200 bytes.
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
