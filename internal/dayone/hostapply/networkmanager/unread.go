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

// checkRead reports the staged profiles that NetworkManager has dropped, with the reason. An older profile of the same
// interface may still be active, so that nothing but this check notices it before the commit.
func (b *Backend) checkRead(ctx context.Context, profiles []profile) error {
	var missing []profile
	for try := range tries {
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
		why := cmp.Or(whyDropped(ctx, nmcli, p.content), `"journalctl -u NetworkManager" has the reason`)
		errs = append(errs, fmt.Errorf("NetworkManager does not read %s, the profile of %s: %s", p.file, p.owner(), why))
	}
	return errors.Join(errs...)
}

// unread returns the profiles that NetworkManager does not have from a file with their content.
func unread(known []nmdbus.Profile, profiles []profile) (out []profile) {
	for _, p := range profiles {
		if !isKnown(known, p) {
			out = append(out, p)
		}
	}
	return out
}

// owner is the interface that a profile is for; one without a device's name is found by an address, and has only its own.
func (p profile) owner() string { return cmp.Or(p.device, strings.TrimSuffix(p.file, ".nmconnection")) }

const (
	// nmcli is NetworkManager's own command. Over the bus it does not say why it dropped a file; its reader, which the command
	// has too, does.
	nmcli = "nmcli"
	// askFor is how long the command may take, which reads one file and asks no daemon.
	askFor = time.Minute
)

// whyDropped is what NetworkManager's reader says about a keyfile; empty if it has nothing against it, or is not there.
func whyDropped(ctx context.Context, command, content string) string {
	ctx, cancel := context.WithTimeout(ctx, askFor)
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
