package mtumigration

import corev1 "k8s.io/api/core/v1"

// PodNamespaces is the directory of pods' network namespaces, on the node and in agents that enter them.
const PodNamespaces = "/run/netns"

// EnterPods adds the permissions and mounts to the first container of an agent's pod that it needs to change interfaces of pods during a migration.
func EnterPods(pod *corev1.PodSpec) {
	agent := &pod.Containers[0]
	agent.SecurityContext.Capabilities.Add = append(agent.SecurityContext.Capabilities.Add, "SYS_ADMIN")
	agent.VolumeMounts = append(agent.VolumeMounts, corev1.VolumeMount{Name: "pod-namespaces", MountPath: PodNamespaces, MountPropagation: new(corev1.MountPropagationHostToContainer)})
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "pod-namespaces", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: PodNamespaces, Type: new(corev1.HostPathDirectoryOrCreate)},
	}})
}
