// Package debian ensures that the machine has the Debian packages that a lab
// needs. As root it installs them, otherwise it returns an error with their names.
package debian

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/filelock"
)

// requirement is a package and a program of it that shows whether it is installed.
type requirement struct{ program, pkg string }

// requirements are the programs that kubelets, container runtimes and networks run.
var requirements = []requirement{
	{"runc", "runc"},
	{"ip", "iproute2"},
	{"iptables", "iptables"},
	{"nft", "nftables"},
	{"conntrack", "conntrack"},
	{"ethtool", "ethtool"},
	{"nsenter", "util-linux"},
	{"mount", "mount"},
	{"ping", "iputils-ping"},
	{"dnsmasq", "dnsmasq-base"},
}

// Ensure installs missing packages. Without root permissions, its error names
// every missing package and the command that installs them. The file lock keeps
// labs that come up at the same time from installing at the same time; apt-get waits for other users of dpkg.
func Ensure(ctx context.Context, lock string, out io.Writer) error {
	if len(Missing(exec.LookPath)) == 0 {
		return nil
	}
	unlock, err := filelock.Acquire(ctx, lock)
	if err != nil {
		return fmt.Errorf("install Debian packages: %w", err)
	}
	defer unlock()
	missing := Missing(exec.LookPath)
	if len(missing) == 0 {
		return nil
	}
	install := append([]string{"install", "--yes", "--no-install-recommends"}, missing...)
	if os.Geteuid() != 0 {
		return fmt.Errorf("the lab needs Debian packages that are not installed: run as root, or first run: apt-get %s",
			strings.Join(install, " "))
	}
	fmt.Fprintf(out, "installing Debian packages: %s\n", strings.Join(missing, " "))
	for _, args := range [][]string{{"update"}, install} {
		cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet=2", "--option=DPkg::Lock::Timeout=600"}, args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, output)
		}
	}
	return nil
}

// Missing returns the packages whose program cannot be found.
func Missing(lookPath func(string) (string, error)) []string {
	var missing []string
	for _, r := range requirements {
		if _, err := lookPath(r.program); err != nil {
			missing = append(missing, r.pkg)
		}
	}
	return missing
}
