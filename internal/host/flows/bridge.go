// Package flows applies sets of OpenFlow flows (package openflow) to an Open vSwitch bridge. It applies a set atomically in one bundle, and again when
// ovs-vswitchd has lost it. It does not change flows that exist, so that applying a set again does not interrupt traffic.
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

// Bridge is a bridge of a running ovs-vswitchd. Its methods run ovs-ofctl, or call ovs-vswitchd.
type Bridge struct {
	Name string
	// RunDir has the daemon's sockets, as in ovs.Switch.
	RunDir string
}

func (b Bridge) management() string { return filepath.Join(b.RunDir, b.Name+".mgmt") }

// Replace replaces the flows of the bridge by those of a set, atomically. It does not change flows that exist. The error is a RefusedError if it is a flow of
// an owner that Open vSwitch refuses.
func (b Bridge) Replace(ctx context.Context, s openflow.Set) error {
	_, err := b.ofctl(ctx, s.String(), "--bundle", "replace-flows", "unix:"+b.management(), "-")
	return refused(err, s)
}

// Change changes the flows of the bridge, which must be those of a set, to those of another set, atomically. It does not read them.
func (b Bridge) Change(ctx context.Context, from, to openflow.Set) error {
	changes := openflow.Changes(from, to)
	if changes == "" {
		return nil
	}
	_, err := b.ofctl(ctx, changes, "--bundle", "add-flows", "unix:"+b.management(), "-")
	return err
}

// MatchFragments makes flows match the ports of a packet's first fragment, until ovs-vswitchd ends. By default, all fragments have port 0.
func (b Bridge) MatchFragments(ctx context.Context) error {
	_, err := b.ofctl(ctx, "", "set-frags", "unix:"+b.management(), "nx-match")
	return err
}

// Differences compares the flows of the bridge with a set. Each line is a flow that only one of them has: it begins with "-" if the bridge lacks it, and
// with "+" if the set does.
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

// Trace simulates the flows of the bridge for a packet in the notation of ovs-fields(7): "in_port=3,tcp,nw_src=10.128.0.5,nw_dst=10.128.0.9,tp_dst=80".
// The trace has the notes of the set. tracked are the results of successive connection tracking lookups, such as "trk,est,rpl"; without one, the
// connection is new.
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
