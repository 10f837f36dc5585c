package config

import (
	"fmt"

	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
)

// Containerd is the name of the container runtime's unit.
const Containerd = "containerd"

// PauseImage holds the network namespace of every pod.
const PauseImage = "registry.k8s.io/pause:3.10.2"

// ContainerdRoot is where the runtime of a node keeps images.
const ContainerdRoot = "/var/lib/containerd"

const containerdConfigPath = "/etc/containerd/config.toml"

// containerdConfig is for containerd 2. A process without CAP_SYS_RESOURCE may
// not lower the out-of-memory score that containers ask for, and the runtime
// would fail without saying so: restrict_oom_score_adj leaves it as it is.
func containerdConfig() []byte {
	return fmt.Appendf(nil, `version = 3
root = '%s'
state = '/run/containerd'
disabled_plugins = [
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.tracing.processor.v1.otlp',
]

[plugins.'io.containerd.cri.v1.images']
snapshotter = 'overlayfs'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '%s'

[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['/opt/cni/bin']
conf_dir = '/etc/cni/net.d'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
`, ContainerdRoot, PauseImage)
}

func containerdUnit() supervisor.Unit {
	return unit(Containerd, "--config="+containerdConfigPath)
}
