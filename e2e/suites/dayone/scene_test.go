package dayone

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/suites/dayone/host"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

//go:embed testdata
var documents embed.FS

// The network of docs/day-one.md.
const (
	card    = "enp2s0"
	mac     = "00:d7:a3:95:42:1f"
	address = "192.168.111.110/24"
	gateway = "192.168.111.1"
	leases  = "192.168.111.20,192.168.111.80"
)

// scene is a host on a segment, with NetworkManager and Open vSwitch.
type scene struct {
	*host.Host
	t       *testing.T
	segment *host.Segment
	manager *host.Daemon
}

// newScene boots a host whose disk has the profiles of its image: those of a document of testdata, or none.
func newScene(t *testing.T, before string) *scene {
	t.Helper()
	s := &scene{t: t, segment: host.NewSegment(t, root, gateway+"/24", leases)}
	s.Host = host.New(t, root, "master-0")
	s.Plug(s.segment, card, "cable0", mac)
	s.Host.Boot()
	s.install()
	if before != "" {
		for _, f := range keyfiles(t, before) {
			s.Write(path.Join("/etc/NetworkManager/system-connections", f.Name), f.Content, 0o600)
		}
	}
	s.daemons()
	if before != "" {
		s.reaches()
	}
	return s
}

func keyfiles(t *testing.T, name string) []nmconn.File {
	t.Helper()
	doc, problems := nmstate.Parse(name, []byte(document(t, name)))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	files, problems := nmconn.Generate(doc)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return files
}

func document(t *testing.T, name string) string {
	t.Helper()
	data, err := documents.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (s *scene) install() {
	s.t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Write("/usr/local/bin/host-network", string(data), 0o755)
}

func (s *scene) daemons() {
	s.t.Helper()
	s.StartBus()
	s.StartSwitch()
	s.manager = s.StartManager(true)
}

// reboot cuts the power and boots.
func (s *scene) reboot() {
	s.t.Helper()
	s.PowerOff()
	s.Host.Boot()
	s.daemons()
}

// give writes a document of testdata as that of the host.
func (s *scene) give(name string) { s.t.Helper(); s.giveText(document(s.t, name)) }

func (s *scene) giveText(text string) {
	s.t.Helper()
	s.Write("/etc/nmstate/openshift/master-0.yml", text, 0o644)
}

// arguments returns those of a run, with timeouts for a test.
func arguments(more ...string) []string {
	return append([]string{"run", "--automatic=false", "--apply-timeout=40s", "--verify-timeout=15s"}, more...)
}

// apply runs the program, which must succeed with the result.
func (s *scene) apply(result string) {
	s.t.Helper()
	out := s.Run("/usr/local/bin/host-network", arguments()...)
	if !strings.Contains(out, result+" master-0.yml") {
		s.t.Fatalf("the result is not %s:\n%s", result, out)
	}
}

// refuse runs the program, which must fail and print because.
func (s *scene) refuse(because string) {
	s.t.Helper()
	out, err := s.Try("/usr/local/bin/host-network", arguments("--log-level=debug")...)
	if err == nil || !strings.Contains(out, because) {
		s.t.Fatalf("the output does not contain %q (%v):\n%s", because, err, out)
	}
	if marker := s.applied(); marker != "" {
		s.t.Errorf("a marker exists after a failure:\n%s", marker)
	}
}

// applied returns the content of the marker; empty if it does not exist.
func (s *scene) applied() string {
	data, err := os.ReadFile(s.Path("/etc/nmstate/openshift/applied"))
	if err != nil {
		return ""
	}
	return string(data)
}

// has polls until a device has an address as its only IPv4 address.
func (s *scene) has(device, address string) {
	s.t.Helper()
	s.Eventually(time.Minute, fmt.Sprintf("%s has %s", device, address), func() error {
		out, err := s.Try("ip", "-4", "-brief", "address", "show", "dev", device)
		if err != nil {
			return err
		}
		if fields := strings.Fields(out); len(fields) != 3 || fields[2] != address {
			return fmt.Errorf("it has %q", out)
		}
		return nil
	})
}

// hasNone fails if a device has an IPv4 address.
func (s *scene) hasNone(device string) {
	s.t.Helper()
	if out := s.Run("ip", "-4", "-brief", "address", "show", "dev", device); len(strings.Fields(out)) > 2 {
		s.t.Errorf("%s has an address: %s", device, out)
	}
}

func (s *scene) reaches() {
	s.t.Helper()
	s.Eventually(time.Minute, "the gateway answers", func() error { return s.Ping(gateway) })
}

// profiles returns all keyfiles on disk, by name, for comparisons.
func (s *scene) profiles() string {
	s.t.Helper()
	return s.Run("sh", "-c", "cd /etc/NetworkManager/system-connections && for f in $(ls); do echo \"== $f\"; cat \"$f\"; done")
}

// killAt runs the program and kills it when it logs that it begins a step. It reports whether the program reached the step.
func (s *scene) killAt(step string, flags ...string) bool {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := s.Command(ctx, "/usr/local/bin/host-network", arguments(append(flags, "--log-level=debug")...)...)
	out, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text()+" ", step+" ") {
			s.Kill(cmd)
			return true
		}
	}
	return false
}
