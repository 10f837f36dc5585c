package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
)

// downTimeout is the time limit for the end of a node's processes.
const downTimeout = time.Minute

// Down removes the lab in any state, also one that a crashed command has left incomplete: its processes, namespaces, control groups,
// mounts and disks. It keeps logs and binaries unless purge is set. Without a lab, Down does nothing. It waits until no other command
// changes the lab.
func Down(ctx context.Context, h Host, purge bool) error {
	unlock, err := Lock(ctx, h)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	// The lab may have been brought up from another checkout.
	states := []string{h.Layout.State()}
	if l, err := Open(h); err == nil && l.record.State != states[0] {
		states = append(states, l.record.State)
	}
	if err := endProcesses(ctx, h.Layout); err != nil {
		return err
	}
	if err := unmountBelow(h.Layout.Disks()); err != nil {
		return err
	}
	remove := []string{h.Layout.Disks(), h.Layout.Run()}
	for _, state := range states {
		remove = append(remove, inState(state, purge)...)
	}
	for _, path := range remove {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove %s: %w", path, err)
		}
	}
	return nil
}

// DownAll removes every lab of the checkout as Down does, and the remains of labs without a record. It returns all errors. It prints
// the labs of other checkouts and skips them, unless their checkout does not exist any more.
func DownAll(ctx context.Context, h Host, purge bool) error {
	names, err := layout.Labs()
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range names {
		h.Layout.Lab = name
		if l, err := Open(h); err == nil && l.record.State != h.Layout.State() {
			if _, err := os.Stat(l.record.State); err == nil {
				fmt.Fprintf(h.Out, "lab %q belongs to %s: not taken down\n", name, l.record.State)
				continue
			}
		}
		failed = append(failed, Down(ctx, h, purge))
	}
	return errors.Join(failed...)
}

func inState(state string, purge bool) []string {
	if purge {
		return []string{state}
	}
	var paths []string
	for _, name := range []string{"kubeconfig", "pki", "images"} {
		paths = append(paths, filepath.Join(state, name))
	}
	return paths
}

// endProcesses kills the recorded processes first, which ends whole nodes at
// once, and then all others in the lab's control groups: a command may have
// crashed between starting a process and recording it.
func endProcesses(ctx context.Context, l layout.Layout) error {
	records, err := filepath.Glob(l.Process("*"))
	if err != nil {
		return fmt.Errorf("list the processes of the lab: %w", err)
	}
	for _, record := range records {
		p, err := process.Load(record)
		if err != nil {
			return err
		}
		if err := p.Kill(ctx); err != nil {
			return err
		}
	}
	groups, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	return cgroup.Remove(ctx, l.Cgroup(), groups)
}

// unmountBelow unmounts all file systems below a directory, the last mounted
// first. Nodes mount in namespaces of their own; this is for mounts made by hand.
func unmountBelow(dir string) error {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return fmt.Errorf("list the mounts: %w", err)
	}
	defer f.Close()
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && strings.HasPrefix(fields[1], dir+"/") {
			points = append(points, fields[1])
		}
	}
	slices.Reverse(points)
	for _, p := range points {
		if err := unix.Unmount(p, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}
