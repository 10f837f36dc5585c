// Package lab tests the lab itself, without an operator: it starts, injects faults, and leaves nothing behind.
package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var checkout *kit.Kit

func TestMain(m *testing.M) {
	var err error
	if checkout, err = kit.Exclusive(); err == nil {
		_, err = checkout.Lab(context.Background(), "down")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestBringUpKilledHalfWayLeavesNothingAfterDown kills the command when it has started nothing, a part, and most of a lab.
func TestBringUpKilledHalfWayLeavesNothingAfterDown(t *testing.T) {
	for _, after := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, time.Second, 4 * time.Second} {
		cmd := exec.Command(filepath.Join(checkout.Root, "_output/lab-bin/lab"), "up")
		cmd.Dir, cmd.Env = checkout.Root, checkout.Environ()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		lab(t, "down")
		for _, left := range leftovers(t, checkout) {
			t.Errorf("killed after %s: %s is left", after, left)
		}
	}
}

func TestLabInjectsFaults(t *testing.T) {
	lab(t, "up", "--workers", "1", "--links", "2", "--dhcp", "2")
	t.Cleanup(func() {
		lab(t, "down")
		lab(t, "down")
		for _, left := range leftovers(t, checkout) {
			t.Errorf("%s is left", left)
		}
	})
	if out := lab(t, "up"); !strings.Contains(out, "up already") {
		t.Errorf("a second up prints %q", out)
	}

	lab(t, "kill", "kube-scheduler")
	await(t, "status", `cp-0/kube-scheduler +running +\d+ +1 +killed by SIGKILL`)
	lab(t, "stop", "cp-0/kubelet")
	await(t, "status", `cp-0/kubelet +stopped`)
	lab(t, "start", "cp-0/kubelet")
	await(t, "status", `cp-0/kubelet +running`)

	lab(t, "exec", "worker-0", "--", "sh", "-c", "echo kept > /var/lib/kept; echo gone > /run/gone")
	lab(t, "stop", "worker-0")
	await(t, "status", `worker-0 +worker .* off`)
	lab(t, "start", "worker-0")
	if out := lab(t, "exec", "worker-0", "--", "sh", "-c", "cat /var/lib/kept; ls /run"); !strings.HasPrefix(out, "kept\n") ||
		strings.Contains(out, "gone") {
		t.Errorf("after a power cycle, disk and /run hold %q", out)
	}

	name := strings.TrimSpace(lab(t, "add-node"))
	if name != "worker-1" {
		t.Errorf("the new node is called %q", name)
	}
	await(t, "status", name+` +worker +10\.89\.0\.13 +False +\d`)
	lab(t, "remove-node", name)
	if out := lab(t, "status"); strings.Contains(out, name) {
		t.Errorf("the removed node is still listed:\n%s", out)
	}

	// A host outside is powered off and on as a node is, and keeps its disk.
	lab(t, "exec", "outside2", "--", "sh", "-c", "echo kept > /var/lib/kept")
	lab(t, "stop", "outside2")
	await(t, "status", `outside2 +outside .* off`)
	lab(t, "start", "outside2")
	await(t, "status", `outside2/dnsmasq +running`)
	if out := lab(t, "exec", "outside2", "--", "cat", "/var/lib/kept"); out != "kept\n" {
		t.Errorf("after a power cycle, the disk of a host outside holds %q", out)
	}
	lab(t, "exec", "worker-0", "--", "sh", "-c", "ip link add net1 link eth1 type macvlan mode bridge && ip addr add 10.90.1.20/24 dev net1 && ip link set net1 up")
	lab(t, "exec", "outside1", "--", "ping", "-c1", "-W5", "10.90.1.20")
	lab(t, "unplug", "worker-0", "eth1")
	if out, err := checkout.Lab(t.Context(), "exec", "outside1", "--", "ping", "-c1", "-W1", "10.90.1.20"); err == nil {
		t.Errorf("the cable is pulled, and packets pass:\n%s", out)
	}
	lab(t, "plug", "worker-0", "eth1")
	lab(t, "exec", "outside1", "--", "ping", "-c1", "-W5", "10.90.1.20")

	lab(t, "stop", "etcd")
	lab(t, "start", "etcd")
	await(t, "status", `cp-0 +control-plane .* False`)
}

func lab(t *testing.T, args ...string) string {
	t.Helper()
	// The context of the test is done when its clean-up runs.
	out, err := checkout.Lab(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// await polls a command of the lab until its output matches a pattern.
func await(t *testing.T, command, pattern string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	kit.Eventually(t, time.Minute, "lab "+command+" shows "+pattern, func(ctx context.Context) error {
		out, err := checkout.Lab(ctx, command)
		if err == nil && !want.MatchString(out) {
			err = fmt.Errorf("it shows\n%s", out)
		}
		return err
	})
}

// leftovers lists the objects of a lab that still exist on the machine.
func leftovers(t *testing.T, k *kit.Kit) []string {
	t.Helper()
	var left []string
	name := k.Cgroup()
	for _, dir := range []string{"/run", "/var/lib", "/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		found, err := filepath.Glob(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, found...)
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), name+"/") {
		left = append(left, "a mount")
	}
	processes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(k.Root, "_output/lab-bin/lab")
	for _, p := range processes {
		target, err := os.Readlink(p)
		if err != nil || target != program {
			continue
		}
		// Processes of other labs have another name in their environment.
		env, err := os.ReadFile(filepath.Join(filepath.Dir(p), "environ"))
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), k.Variable()) {
			left = append(left, "process "+filepath.Base(filepath.Dir(p)))
		}
	}
	return left
}
