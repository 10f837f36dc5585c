package cgroup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHierarchies(t *testing.T) {
	tests := map[string]struct {
		mounts string
		want   []Hierarchy
	}{
		"version 2": {
			"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
			[]Hierarchy{{Path: "/sys/fs/cgroup", Unified: true}},
		},
		"both": {
			"tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			[]Hierarchy{
				{Path: "/sys/fs/cgroup/cpu", Controllers: []string{"rw", "cpu"}},
				{Path: "/sys/fs/cgroup/unified", Unified: true},
			},
		},
		"none": {"proc /proc proc rw 0 0\n", nil},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, Hierarchies(tt.mounts)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestBranchHasItsProcesses needs root and a kernel's real control groups.
func TestBranchHasItsProcesses(t *testing.T) {
	groups, err := Mounted()
	if err != nil {
		t.Fatal(err)
	}
	lab := fmt.Sprintf("/cno-lab-test-%d", os.Getpid())
	node := filepath.Join(lab, "node")
	if err := Create(node, groups); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, h := range groups {
			_ = os.Remove(filepath.Join(h.Path, lab))
		}
	})
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, file := range JoinFiles(node, groups) {
		if err := os.WriteFile(file, fmt.Append(nil, cmd.Process.Pid), 0); err != nil {
			t.Fatal(err)
		}
	}
	pids, err := Processes(node, groups)
	if err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("processes %v, want %d; %v", pids, cmd.Process.Pid, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Remove(ctx, node, groups); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the process was not killed")
	}
	for _, h := range groups {
		if _, err := os.Stat(filepath.Join(h.Path, node)); err == nil {
			t.Errorf("the branch is left in %s", h.Path)
		}
	}
	if err := Remove(ctx, node, groups); err != nil {
		t.Errorf("removing a branch that does not exist: %v", err)
	}
}
