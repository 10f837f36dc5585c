// Package dayone tests host networking: a real NetworkManager and a real Open vSwitch on hosts that are namespaces, and the binary
// host-network, which changes their network.
package dayone

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/e2e/suites/dayone/host"
	"github.com/cluster-network-operator/cno/internal/image"
)

// root is the root file system of hosts, program the binary under test.
var root, program string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dayone-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "host-network")
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func prepare() error {
	checkout, err := kit.New()
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", program, "./cmd/host-network")
	build.Dir, build.Env = checkout.Root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build host-network: %w\n%s", err, out)
	}
	root, err = host.Root(context.Background(), image.DefaultCache(os.Getenv), func(s string) { fmt.Println(s) })
	return err
}
