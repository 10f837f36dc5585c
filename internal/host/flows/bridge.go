// Package flows makes a bridge of Open vSwitch have the flows of a set (package openflow), and keeps them there: it applies a set in one bundle,
// so that no packet sees half of a change, and again when ovs-vswitchd has lost it. Flows that a bridge has already are not touched, so that
// applying a set again disturbs nothing.
package flows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/openflow"
)

// protocol is the version of OpenFlow that has bundles and the fields that this package writes.
const protocol = "OpenFlow15"

// Bridge is a bridge of a running ovs-vswitchd. Its methods run ovs-ofctl, or call the daemon.
type Bridge struct {
	Name string
	// RunDir has the daemon's sockets, as in ovs.Switch.
	RunDir string
}

func (b Bridge) management() string { return filepath.Join(b.RunDir, b.Name+".mgmt") }

// Replace makes the bridge have the flows of a set and no others, all at once or, with an error, none. Flows that it has already are not
// touched.
func (b Bridge) Replace(ctx context.Context, s openflow.Set) error {
	_, err := b.ofctl(ctx, s.String(), "--bundle", "replace-flows", "unix:"+b.management(), "-")
	return err
}

// MatchFragments has flows see the ports of the first fragment of a packet, until ovs-vswitchd ends. Without it all fragments have port 0.
func (b Bridge) MatchFragments(ctx context.Context) error {
	_, err := b.ofctl(ctx, "", "set-frags", "unix:"+b.management(), "nx-match")
	return err
}

// Differences compares the bridge with a set by meaning. Each line is a flow that only one of them has: it begins with "-" if the bridge
// lacks it, and with "+" if the bridge has it in addition.
func (b Bridge) Differences(ctx context.Context, s openflow.Set) ([]string, error) {
	out, err := b.ofctl(ctx, s.String(), "diff-flows", "/dev/stdin", "unix:"+b.management())
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 2) { // 2: they differ
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	return lines, nil
}

// Trace reports what the flows of the bridge do with a packet that does not exist, in the notation of ovs-fields(7):
// "in_port=3,tcp,nw_src=10.128.0.5,nw_dst=10.128.0.9,tp_dst=80". The notes are those of a set. Tracked are the states that connection
// tracking finds, "trk,est,rpl", one for each time that it is asked; without one a connection is new.
func (b Bridge) Trace(ctx context.Context, daemon ovs.Control, packet string, s openflow.Set, tracked ...string) (openflow.Trace, error) {
	arguments := []string{b.Name, packet}
	for _, state := range tracked {
		arguments = append(arguments, "--ct-next", state)
	}
	out, err := daemon.Call(ctx, "ofproto/trace", arguments...)
	if err != nil {
		return openflow.Trace{}, fmt.Errorf("trace a packet on bridge %s: %w", b.Name, err)
	}
	return openflow.ParseTrace(out, s), nil
}

func (b Bridge) ofctl(ctx context.Context, input string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ovs-ofctl", append([]string{"-O", protocol}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s of bridge %s: %w: %s", verb(args), b.Name, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func verb(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return "ovs-ofctl"
}
