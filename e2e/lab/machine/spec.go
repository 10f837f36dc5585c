// Package machine runs a node in Linux namespaces: it has its own network, mounts,
// host name and process tree, and uses the kernel and the programs of the machine. What the node writes to /etc, /opt and /var stays on
// its disk directory; /run is empty each time the node starts. Its first process
// is Init, a supervisor; when that is killed the kernel ends everything on the
// node and removes its network, as in a power failure.
package machine

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
)

// Directories inside a node that the lab put there.
const (
	// Bin holds links to the lab's programs.
	Bin = "/run/lab/bin"
	// Logs is the node's log directory of the machine outside.
	Logs = "/run/lab/logs"
	// binTargets is the directory of the targets of the links in Bin.
	binTargets = "/run/lab/programs"
)

// Spec has the parameters of Init.
type Spec struct {
	Name string `json:"name"`
	// Disk is the node's disk directory, outside.
	Disk string `json:"disk"`
	// Programs maps the names of programs to their paths outside.
	Programs map[string]string `json:"programs"`
	// LogDir is the directory outside that appears as Logs.
	LogDir string `json:"logDir"`
	// Cgroup is the node's branch of control groups, Cgroups are the mounted
	// hierarchies, which stay visible.
	Cgroup  string             `json:"cgroup"`
	Cgroups []cgroup.Hierarchy `json:"cgroups"`
}

// DiskPath returns the path of a node's file in its disk directory. It returns an
// error for files outside the directories that belong to the node alone.
func DiskPath(disk, path string) (string, error) {
	for prefix, dir := range map[string]string{"/etc/": "etc/upper", "/opt/": "opt", "/var/": "var"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return filepath.Join(disk, dir, rest), nil
		}
	}
	return "", fmt.Errorf("%s is not below a directory that belongs to the node alone", path)
}
