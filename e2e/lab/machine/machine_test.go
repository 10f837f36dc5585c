package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// initFlag makes the test program act as the first process of a node.
const initFlag = "act-as-init"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == initFlag {
		fmt.Fprintln(os.Stderr, actAsInit())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func actAsInit() error {
	var s Spec
	if err := json.NewDecoder(os.NewFile(SpecFD, "spec")).Decode(&s); err != nil {
		return err
	}
	l, err := net.FileListener(os.NewFile(ListenerFD, "listener"))
	if err != nil {
		return err
	}
	return Init(context.Background(), s, l, os.NewFile(ReadyFD, "ready"), slog.Default())
}

// TestNodeHasItsOwnDirectoriesProcessesAndNetwork needs root: it makes
// namespaces, mounts and control groups.
func TestNodeHasItsOwnDirectoriesProcessesAndNetwork(t *testing.T) {
	n := startNode(t, []File{{Path: "/etc/kubernetes/test.conf", Mode: 0o600, Data: []byte("from the disk")}})

	for what, tt := range map[string]struct{ script, want string }{
		"its host name":                {"hostname", n.spec.Name},
		"a file of its disk":           {"cat /etc/kubernetes/test.conf", "from the disk"},
		"what the machine has, too":    {"test -e /etc/passwd && test -d /usr/bin && echo both", "both"},
		"no network but a loopback":    {"ip -o link | grep -cv ' lo:'; true", "0"},
		"a loopback that is up":        {"ip -o address show lo | grep -c 127.0.0.1", "1"},
		"the sysfs of its own network": {"ls /sys/class/net", "lo"},
		"its own processes":            {"readlink /proc/1/exe | grep -q machine.test && echo own", "own"},
		"the control groups":           {"ls -d /sys/fs/cgroup/*", "/sys/fs/cgroup"},
		"the lab's programs":           {"/run/lab/bin/say hello", "hello"},
		"forwarding":                   {"cat /proc/sys/net/ipv4/ip_forward", "1"},
		// Networks make namespaces and devices in containers that the node has to see, and keep databases on the node.
		"mounts below /run that containers share": {"findmnt --noheadings --output PROPAGATION --target /run", "shared"},
		"a directory for network namespaces":      {"ip netns add one && ip netns list", "one"},
		"devices for tunnels":                     {"test -c /dev/net/tun && echo yes", "yes"},
	} {
		if got := n.run(t, tt.script); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", what, got, tt.want)
		}
	}

	// The name is one that the machine does not have.
	for _, dir := range []string{"/etc", "/opt", "/var/lib", "/run"} {
		n.run(t, "echo x > "+dir+"/"+n.spec.Name)
		if _, err := os.Stat(filepath.Join(dir, n.spec.Name)); err == nil {
			t.Errorf("what the node writes to %s lands on the machine", dir)
		}
	}
	for _, path := range []string{"/etc/", "/opt/", "/var/lib/"} {
		kept, err := DiskPath(n.spec.Disk, path+n.spec.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(kept); err != nil {
			t.Errorf("what the node writes to %s is not on its disk: %v", path, err)
		}
	}
}

func TestKillingTheFirstProcessKillsAllProcesses(t *testing.T) {
	n := startNode(t, nil)
	client := supervisor.NewClient(n.launch.Socket)
	unit := supervisor.Unit{Name: "sleeper", Path: "/bin/sleep", Args: []string{"1000"}, Log: Logs + "/sleeper.log"}
	if err := client.Start(t.Context(), unit); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(n.spec.LogDir, "sleeper.log")); err != nil {
		t.Errorf("the unit's log is not where logs are looked for: %v", err)
	}
	pids, err := cgroup.Processes(n.spec.Cgroup, n.spec.Cgroups)
	if err != nil || len(pids) != 2 {
		t.Fatalf("the node's processes are %v, %v: want the first one and the unit", pids, err)
	}
	if err := n.init.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		eventually.Is(t, fmt.Sprintf("process %d has ended", pid), func() bool {
			p, err := process.Find(pid)
			return err != nil || !p.Alive()
		})
	}
}

func TestNodeThatCannotStartReportsTheCause(t *testing.T) {
	n := newNode(t, nil)
	n.spec.Programs["missing"] = "/no/such/program"
	_, err := Start(t.Context(), n.spec, n.launch)
	if err == nil || !strings.Contains(err.Error(), "find the program missing") {
		t.Errorf("error %v", err)
	}
}

func TestFormatRefusesFilesOfOthers(t *testing.T) {
	err := Format(t.TempDir(), []File{{Path: "/usr/bin/kubelet"}})
	if err == nil || !strings.Contains(err.Error(), "/usr/bin/kubelet") {
		t.Errorf("error %v", err)
	}
}

// testCgroup is the branch of the nodes that tests make.
const testCgroup = "/cno-lab-machine-test"

type node struct {
	spec   Spec
	launch Launch
	init   process.Process
}

func newNode(t *testing.T, files []File) node {
	t.Helper()
	groups, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano()%1e6)
	n := node{
		spec: Spec{
			Name: name, Disk: filepath.Join(dir, "disk"), LogDir: filepath.Join(dir, "logs"),
			Programs: map[string]string{"say": "/bin/echo"},
			Cgroup:   filepath.Join(testCgroup, name), Cgroups: groups,
		},
		launch: Launch{
			Program: "/proc/self/exe", Args: []string{initFlag},
			Socket: filepath.Join(dir, "s"), Log: filepath.Join(dir, "logs", "init.log"),
		},
	}
	if err := Format(n.spec.Disk, files); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(n.spec.LogDir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := cgroup.Remove(ctx, n.spec.Cgroup, groups); err != nil {
			t.Error(err)
		}
		for _, h := range groups {
			// It stays while another test has nodes.
			_ = os.Remove(filepath.Join(h.Path, testCgroup))
		}
	})
	return n
}

func startNode(t *testing.T, files []File) node {
	t.Helper()
	n := newNode(t, files)
	var err error
	if n.init, err = Start(t.Context(), n.spec, n.launch); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n node) run(t *testing.T, script string) string {
	t.Helper()
	out, err := Enter(t.Context(), n.init.PID, "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}
