package networkmanager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// checkRead reports the staged profiles that NetworkManager has dropped, with the reason. Since an older profile of the same interface may still be active,
// only this check detects it before the commit.
func (b *Backend) checkRead(ctx context.Context, profiles []profile) error {
	var missing []profile
	for try := range maxTries {
		if try > 0 {
			if err := pause(ctx, retryAfter); err != nil {
				return err
			}
		}
		known, err := b.Bus.Profiles(ctx)
		if err != nil {
			return err
		}
		if missing = unread(known, profiles); len(missing) == 0 {
			return nil
		}
	}
	var errs []error
	for _, p := range missing {
		why := cmp.Or(dropReason(ctx, nmcli, p.content), `"journalctl -u NetworkManager" has the reason`)
		errs = append(errs, fmt.Errorf("NetworkManager does not read %s, the profile of %s: %s", p.file, p.owner(), why))
	}
	return errors.Join(errs...)
}

// unread returns the profiles that NetworkManager has not read from a file with their content.
func unread(known []nmdbus.Profile, profiles []profile) (out []profile) {
	for _, p := range profiles {
		if !isKnown(known, p) {
			out = append(out, p)
		}
	}
	return out
}

// owner returns the interface of a profile, or the name of the profile if the device is found by an address.
func (p profile) owner() string { return cmp.Or(p.device, strings.TrimSuffix(p.file, ".nmconnection")) }

const (
	// nmcli is NetworkManager's command, which has the same parser. The D-Bus interface does not report why a file was dropped.
	nmcli = "nmcli"
	// nmcliTimeout is the timeout of the command, which reads one file without the daemon.
	nmcliTimeout = time.Minute
)

// dropReason returns the error of NetworkManager's parser for a keyfile; empty if there is none, or the command is missing.
func dropReason(ctx context.Context, command, content string) string {
	ctx, cancel := context.WithTimeout(ctx, nmcliTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, "--offline", "connection", "modify", "connection.autoconnect-retries", "-1")
	cmd.Env, cmd.Stdin = []string{"LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, strings.NewReader(content)
	_, err := cmd.Output()
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return ""
	}
	text := strings.TrimPrefix(strings.TrimSpace(string(failed.Stderr)), "Error: ")
	return strings.TrimPrefix(text, "Error writing connection: ")
}
