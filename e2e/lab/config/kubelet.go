package config

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

const (
	kubeletConfigPath = "/var/lib/kubelet/config.yaml"
	// clusterDomain is the DNS domain of the cluster.
	clusterDomain = "cluster.local"
	// noImageGC is the disk usage, in percent, that disables image garbage
	// collection. There is no registry to pull images from again.
	noImageGC = 100
)

// controlPlaneTaint keeps pods that do not tolerate it off the control plane.
var controlPlaneTaint = corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}

// maxPods is the maximum number of pods of a node, as in OpenShift. A hundred pods of a benchmark run beside those of the system.
const maxPods = 250

func kubeletConfig(n Node) ([]byte, error) {
	k := &kubeletv1.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: kubeletv1.SchemeGroupVersion.String(), Kind: "KubeletConfiguration"},

		TLSCertFile:       certFile(pki.Kubelet),
		TLSPrivateKeyFile: keyFile(pki.Kubelet),
		Authentication: kubeletv1.KubeletAuthentication{
			X509:      kubeletv1.KubeletX509Authentication{ClientCAFile: caFile},
			Webhook:   kubeletv1.KubeletWebhookAuthentication{Enabled: new(true)},
			Anonymous: kubeletv1.KubeletAnonymousAuthentication{Enabled: new(false)},
		},
		Authorization: kubeletv1.KubeletAuthorization{Mode: kubeletv1.KubeletAuthorizationModeWebhook},

		StaticPodPath:            kubernetesDir + "/manifests",
		VolumePluginDir:          "/var/lib/kubelet/volumeplugins",
		ContainerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
		ResolverConfig:           new("/etc/resolv.conf"),
		ClusterDomain:            clusterDomain,
		SerializeImagePulls:      new(false),
		SyncFrequency:            metav1.Duration{Duration: 10 * time.Second},
		MaxPods:                  maxPods,
	}
	for _, a := range n.NameServer() {
		k.ClusterDNS = append(k.ClusterDNS, a.String())
	}
	if n.Role == topology.ControlPlane {
		k.RegisterWithTaints = []corev1.Taint{controlPlaneTaint}
	}
	shareMachine(k, n.CgroupRoot)
	out, err := yaml.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("encode the kubelet's configuration: %w", err)
	}
	return out, nil
}

// shareMachine sets the options that a kubelet needs because it shares the machine
// and its control groups.
func shareMachine(k *kubeletv1.KubeletConfiguration, cgroupRoot string) {
	k.CgroupRoot = cgroupRoot
	k.CgroupDriver = "cgroupfs"
	k.FailCgroupV1 = new(false)
	k.FailSwapOn = new(false)
	k.EnforceNodeAllocatable = []string{"none"}
	// The default is lower than a process without CAP_SYS_RESOURCE may set.
	k.OOMScoreAdj = new(int32(0))
	// All nodes report the same disk and memory: under pressure, all would
	// evict pods at the same time.
	k.EvictionHard = map[string]string{
		"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
		"imagefs.available": "0%", "imagefs.inodesFree": "0%",
	}
	k.ImageGCHighThresholdPercent = new(int32(noImageGC))
	k.ImageGCLowThresholdPercent = new(int32(noImageGC - 1))
}

// Kubelet is the name of the kubelet's unit.
const Kubelet = "kubelet"

func kubeletUnit(n Node) supervisor.Unit {
	var ips []string
	for _, a := range n.Addresses {
		ips = append(ips, a.String())
	}
	return unit(Kubelet,
		"--config="+kubeletConfigPath,
		"--kubeconfig="+kubernetesDir+"/kubelet.conf",
		"--hostname-override="+n.Name,
		"--node-ip="+strings.Join(ips, ","),
	)
}

// unit returns the unit of one of the lab's programs, with the name of the program.
func unit(name string, args ...string) supervisor.Unit {
	return supervisor.Unit{
		Name: name,
		Path: machine.Bin + "/" + name,
		Args: args,
		Env:  Environment(),
		Log:  fmt.Sprintf("%s/%s.log", machine.Logs, name),
	}
}

// Environment returns the environment of programs on a node.
func Environment() []string {
	return []string{
		"PATH=" + machine.Bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root",
		"LANG=C.UTF-8",
	}
}
