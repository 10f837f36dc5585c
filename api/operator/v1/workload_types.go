package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Workload overrides how one workload of the network runs. Omitted fields stay as the operator renders them.
type Workload struct {
	// name is the workload: flanneld, flannel-etcd, flannel-etcd-snapshots, flannel-metrics, ovn-ipsec, ovnkube, ovnkube-master, ovnkube-metrics, ovs, sdn, sdn-controller,
	// sdn-metrics, kube-proxy, kube-proxy-metrics, multus, multus-metrics,
	// network-check-source, network-check-target, egress-router-cni (the pods of all EgressRouters) or cni-sysctl-allowlist-ds.
	// +kubebuilder:validation:Enum=cni-sysctl-allowlist-ds;egress-router-cni;flanneld;flannel-etcd;flannel-etcd-snapshots;flannel-metrics;kube-proxy;kube-proxy-metrics;multus;multus-metrics;network-check-source;network-check-target;ovn-ipsec;ovnkube;ovnkube-master;ovnkube-metrics;ovs;sdn;sdn-controller;sdn-metrics
	Name string `json:"name"`

	// resources replaces the requests and limits of the workload's main container, each resource on its own.
	// +optional
	Resources *WorkloadResources `json:"resources,omitempty"`

	// tolerations are added to those of the workload.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// nodeSelector is added to that of the workload. Only network-check-source and egress-router-cni have a choice of nodes.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity replaces that of the workload. Only network-check-source and egress-router-cni have a choice of nodes.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// priorityClassName replaces the priority class of the workload's pods.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// env is added to the environment of the workload's main container. Variables that the operator sets cannot be
	// replaced.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Env []WorkloadVariable `json:"env,omitempty"`

	// updateStrategy is the number of nodes on which a DaemonSet replaces its pods at once.
	// +optional
	UpdateStrategy *WorkloadUpdateStrategy `json:"updateStrategy,omitempty"`
}

// WorkloadResources are the compute resources of a container.
type WorkloadResources struct {
	// requests are the resources that are reserved for the container.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`
	// limits are the resources that the container cannot exceed.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// WorkloadVariable is a variable of an environment.
type WorkloadVariable struct {
	// name is the name of the variable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// value is its value. The default is the empty string.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Value string `json:"value,omitempty"`
}

// WorkloadUpdateStrategy is how a DaemonSet replaces its pods.
type WorkloadUpdateStrategy struct {
	// maxUnavailable is the number of nodes, at least 1, or the share of all nodes, 1% to 100%, on which pods are
	// replaced at once. The first node of a rollout is always alone.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`
}
