// Package cgroup creates a branch of the machine's control groups for each node of
// a lab, in all hierarchies of the machine: several of version 1, one of version 2,
// or both. All processes in the branch belong to the lab, so that later commands
// find them.
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

// system is the leaf group of a node's own programs. In version 2, a group must not
// have both processes and children with controllers.
const system = "system"

// Hierarchy is one mounted tree of control groups.
type Hierarchy struct {
	Path string
	// Unified is true for version 2.
	Unified bool
	// Controllers of a version 1 hierarchy.
	Controllers []string
}

// Hierarchies returns the mounted hierarchies in the text of /proc/self/mounts.
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

// Mounted returns the hierarchies that are mounted on this machine.
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

// delegate enables all controllers of a version 2 group for its children.
func (h Hierarchy) delegate(parent string) error {
	have, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(have)) {
		// A controller that cannot be enabled (one bound to version 1, or with
		// realtime groups in use) is not usable for the node.
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+c), 0)
	}
	return nil
}

// inheritCPUs copies the allowed processors and memory nodes from the parent:
// a new group of version 1 has none, so that no process could join it.
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

// JoinFiles returns the files that move the calling process to the group of a
// node, given by its branch, when "0" is written to them.
func JoinFiles(branch string, hierarchies []Hierarchy) []string {
	var files []string
	for _, h := range hierarchies {
		files = append(files, filepath.Join(h.Path, branch, system, "cgroup.procs"))
	}
	return files
}
