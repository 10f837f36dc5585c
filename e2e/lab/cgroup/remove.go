package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollInterval is short compared to the time the kernel takes to end a process.
const pollInterval = 20 * time.Millisecond

// Processes returns the processes in a branch, in any hierarchy.
func Processes(branch string, hierarchies []Hierarchy) ([]int, error) {
	var pids []int
	for _, h := range hierarchies {
		err := walk(filepath.Join(h.Path, branch), func(dir string) error {
			procs, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			if err != nil {
				return ignoreGone(err)
			}
			for _, line := range strings.Fields(string(procs)) {
				pid, err := strconv.Atoi(line)
				if err != nil {
					return err
				}
				// 0 means a process of another PID namespace.
				if pid > 0 {
					pids = append(pids, pid)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list the processes of control group %s: %w", branch, err)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Remove kills all processes in a branch and removes the branch from every
// hierarchy. A branch that does not exist is not an error.
func Remove(ctx context.Context, branch string, hierarchies []Hierarchy) error {
	if err := kill(ctx, branch, hierarchies); err != nil {
		return err
	}
	for _, h := range hierarchies {
		if err := h.remove(ctx, branch); err != nil {
			return fmt.Errorf("remove the control group %s: %w", branch, err)
		}
	}
	return nil
}

func kill(ctx context.Context, branch string, hierarchies []Hierarchy) error {
	return poll(ctx, func() error {
		pids, err := Processes(branch, hierarchies)
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		return errBusy{fmt.Errorf("processes %v of %s do not end", pids, branch)}
	})
}

// remove removes the branch, deepest groups first. A group stays busy for a
// moment after its last process has ended.
func (h Hierarchy) remove(ctx context.Context, branch string) error {
	var dirs []string
	if err := walk(filepath.Join(h.Path, branch), func(dir string) error {
		dirs = append(dirs, dir)
		return nil
	}); err != nil {
		return err
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		if err := poll(ctx, func() error {
			err := syscall.Rmdir(dir)
			if errors.Is(err, syscall.EBUSY) {
				return errBusy{err}
			}
			return ignoreGone(err)
		}); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// walk calls f for a directory and all below it, parents first.
func walk(root string, f func(dir string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreGone(err)
		}
		if !d.IsDir() {
			return nil
		}
		return f(path)
	})
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return err
}

// errBusy is a transient error.
type errBusy struct{ error }

func poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		var busy errBusy
		if !errors.As(err, &busy) {
			return err
		}
		select {
		case <-ctx.Done():
			return busy.error
		case <-time.After(pollInterval):
		}
	}
}
