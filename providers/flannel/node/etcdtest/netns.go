package etcdtest

import (
	"crypto/rand"
	"os/exec"
	"strings"
	"testing"
)

// Netns is a network namespace that ends with the test.
type Netns struct {
	t    testing.TB
	Name string
}

// New makes a network namespace with its loopback interface up. The label is for a person who looks at them; the
// names differ.
func New(t testing.TB, label string) Netns {
	t.Helper()
	netns := Netns{t: t, Name: "cnotest-" + strings.ToLower(rand.Text()[:8]) + "-" + label}
	Run(t, "ip", "netns", "add", netns.Name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", netns.Name).Run() })
	netns.Run("ip", "link", "set", "lo", "up")
	return netns
}

// Path is the file that stands for the namespace.
func (n Netns) Path() string { return "/run/netns/" + n.Name }

// Run runs a command inside the namespace, and returns what it prints. The test fails if the command does.
func (n Netns) Run(args ...string) string {
	n.t.Helper()
	return Run(n.t, n.in(args)...)
}

// Try is Run for commands that may fail.
func (n Netns) Try(args ...string) (string, error) {
	all := n.in(args)
	out, err := exec.Command(all[0], all[1:]...).CombinedOutput()
	return string(out), err
}

// in enters by nsenter: `ip netns exec` would mount another /sys.
func (n Netns) in(args []string) []string {
	return append([]string{"nsenter", "--net=" + n.Path()}, args...)
}

// Run runs a command, and returns what it prints. The test fails if the command does.
func Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
