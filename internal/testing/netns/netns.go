// Package netns makes network namespaces for tests of node code.
package netns

import (
	"crypto/rand"
	"os/exec"
	"strings"
	"testing"
)

// Namespace is a network namespace that ends with the test.
type Namespace struct {
	t    testing.TB
	Name string
}

// New makes a network namespace with its loopback interface up. The label is for a person who looks at them; the
// names differ.
func New(t testing.TB, label string) Namespace {
	t.Helper()
	n := Namespace{t: t, Name: "cnotest-" + strings.ToLower(rand.Text()[:8]) + "-" + label}
	Run(t, "ip", "netns", "add", n.Name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.Name).Run() })
	n.Run("ip", "link", "set", "lo", "up")
	return n
}

// Path is the file that stands for the namespace.
func (n Namespace) Path() string { return "/run/netns/" + n.Name }

// Run runs a command inside the namespace, and returns what it prints. The test fails if the command does.
func (n Namespace) Run(args ...string) string {
	n.t.Helper()
	return Run(n.t, n.in(args)...)
}

// Try is Run for commands that may fail.
func (n Namespace) Try(args ...string) (string, error) {
	all := n.in(args)
	out, err := exec.Command(all[0], all[1:]...).CombinedOutput()
	return string(out), err
}

// in enters by nsenter: `ip netns exec` would mount another /sys.
func (n Namespace) in(args []string) []string {
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
