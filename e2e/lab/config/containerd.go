package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
)

// Containerd is the name of the container runtime's unit.
const Containerd = "containerd"

// PauseImage is the image of the sandbox of every pod.
const PauseImage = "registry.k8s.io/pause:3.10.2"

// ContainerdRoot is the root directory of a node's runtime, with its images.
const ContainerdRoot = "/var/lib/containerd"

const containerdConfigPath = "/etc/containerd/config.toml"

// unusedPlugins are plugins that no node needs, and that log warnings on every
// start.
var unusedPlugins = []string{
	"io.containerd.snapshotter.v1.blockfile",
	"io.containerd.snapshotter.v1.btrfs",
	"io.containerd.snapshotter.v1.devmapper",
	"io.containerd.snapshotter.v1.zfs",
	"io.containerd.tracing.processor.v1.otlp",
}

// podPlugins are the plugins that run pods and manage their images.
var podPlugins = []string{"io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"}

// containerdBase returns the common beginning of configurations of containerd 2.
func containerdBase(root, state string, disabled ...string) string {
	return fmt.Sprintf("version = 3\nroot = '%s'\nstate = '%s'\ndisabled_plugins = ['%s']\n", root, state, strings.Join(disabled, "', '"))
}

// ContainerdForImports returns the configuration and the socket of a containerd
// outside the nodes that only imports images into a root directory, which a node
// can use afterwards. The directory run holds its state.
func ContainerdForImports(root, run string) (config []byte, socket string) {
	socket = filepath.Join(run, "containerd.sock")
	base := containerdBase(root, filepath.Join(run, "state"), append(podPlugins, unusedPlugins...)...)
	return fmt.Appendf(nil, "%s\n[grpc]\naddress = '%s'\n", base, socket), socket
}

// containerdConfig returns the configuration of a node's containerd. A process without CAP_SYS_RESOURCE may
// not lower the out-of-memory score that containers ask for, and the runtime
// would fail without a message: restrict_oom_score_adj keeps the current score.
func containerdConfig() []byte {
	return fmt.Appendf(nil, `%s
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
`, containerdBase(ContainerdRoot, "/run/containerd", unusedPlugins...), PauseImage)
}

func containerdUnit() supervisor.Unit {
	return unit(Containerd, "--config="+containerdConfigPath)
}
