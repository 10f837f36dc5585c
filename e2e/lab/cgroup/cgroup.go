// Package cgroup gives every node of a lab its own branch of the machine's
// control groups, in whichever hierarchies the machine has: several of version
// 1, one of version 2, or both side by side. What runs in the branch belongs to
// the lab, which is how a later command finds every process of it.
package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// system is the leaf for a node's own programs; version 2 lets no group have both
// processes and children with controllers.
const system = "system"

// Hierarchy is one mounted tree of control groups.
type Hierarchy struct {
	Path string
	// Unified is true for version 2.
	Unified bool
	// Controllers of a version 1 hierarchy.
	Controllers []string
}

// Hierarchies lists the mounted trees, from the text of /proc/self/mounts.
func Hierarchies(mounts string) []Hierarchy {
	var list []Hierarchy
	lines := bufio.NewScanner(strings.NewReader(mounts))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 {
			continue
		}
		switch f[2] {
		case "cgroup":
			list = append(list, Hierarchy{Path: f[1], Controllers: strings.Split(f[3], ",")})
		case "cgroup2":
			list = append(list, Hierarchy{Path: f[1], Unified: true})
		}
	}
	return list
}

// Mounted lists the trees mounted on this machine.
func Mounted() ([]Hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("list the control groups: %w", err)
	}
	list := Hierarchies(string(mounts))
	if len(list) == 0 {
		return nil, errors.New("no control groups are mounted on this machine")
	}
	return list, nil
}

// Create makes the branch of a node, which is below that of its lab, in every
// hierarchy. Both are paths relative to each hierarchy.
func Create(branch string, hierarchies []Hierarchy) error {
	for _, h := range hierarchies {
		for _, dir := range []string{filepath.Dir(branch), branch, filepath.Join(branch, system)} {
			if err := h.create(dir); err != nil {
				return fmt.Errorf("create the control group %s: %w", dir, err)
			}
		}
	}
	return nil
}

func (h Hierarchy) create(dir string) error {
	path := filepath.Join(h.Path, dir)
	if h.Unified {
		if err := h.delegate(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, c := range h.Controllers {
		if c == "cpuset" {
			return inheritCPUs(path)
		}
	}
	return nil
}

// delegate hands all controllers of a version 2 group down to its children.
func (h Hierarchy) delegate(parent string) error {
	have, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(have)) {
		// A controller that cannot be handed down (one bound to version 1, or
		// realtime groups in use) is not one the node could use.
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+c), 0)
	}
	return nil
}

// inheritCPUs copies the allowed processors and memory nodes from the parent:
// version 1 starts a group with none, and then no process may join it.
func inheritCPUs(path string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(path, file), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// JoinFiles lists the files that take the calling process into the group of a
// node, given by its branch, when "0" is written to them.
func JoinFiles(branch string, hierarchies []Hierarchy) []string {
	var files []string
	for _, h := range hierarchies {
		files = append(files, filepath.Join(h.Path, branch, system, "cgroup.procs"))
	}
	return files
}
