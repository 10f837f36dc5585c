// Package lacp waits until bonds have agreed with their switch. A bond of mode 802.3ad whose ports the switch does not
// take yet is up and passes nothing: who asks for a lease over it then, asks in vain. It only reads the kernel's files.
package lacp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strconv"
	"strings"
	"time"
)

const (
	// limit is how long a bond may take. Both sides answer within a second; ports that just came up take a few.
	limit = 5 * time.Second
	poll  = 100 * time.Millisecond

	// agreed are the bits of a port's state that say that it collects and distributes (IEEE 802.1AX, 6.4.2.3).
	agreed = 0x10 | 0x20
)

// Await returns when every port with a link, of each of some bonds of mode 802.3ad, collects and distributes on both sides; at
// the latest after five seconds, with a warning in the log: a bond may work in part, and anyone who verifies sees how far. Names
// of anything else are passed over. sys is /sys/class/net, and wait returns after a while or with the context's error.
func Await(ctx context.Context, sys fs.FS, bonds []string, wait func(context.Context, time.Duration) error, log *slog.Logger) error {
	for left := limit; ; left -= poll {
		var open []string
		for _, name := range bonds {
			reason, err := missing(sys, name)
			if err != nil {
				return fmt.Errorf("read the state of bond %s: %w", name, err)
			}
			if reason != "" {
				open = append(open, name+": "+reason)
			}
		}
		if len(open) == 0 {
			return nil
		}
		if left <= 0 {
			log.Warn("LACP is not agreed on with the switch; going on", "bonds", strings.Join(open, "; "), "waited", limit)
			return nil
		}
		if err := wait(ctx, poll); err != nil {
			return fmt.Errorf("wait for LACP: %w", err)
		}
	}
}

// missing says what a bond lacks; empty if it lacks nothing, or is no bond of mode 802.3ad.
func missing(sys fs.FS, bond string) (string, error) {
	mode, err := read(sys, bond, "bonding/mode")
	if err != nil || !strings.HasPrefix(mode, "802.3ad") {
		return "", err
	}
	ports, err := read(sys, bond, "bonding/slaves")
	if err != nil {
		return "", err
	}
	linked := 0
	for _, port := range strings.Fields(ports) {
		link, err := read(sys, port, "bonding_slave/mii_status")
		if err != nil {
			return "", err
		}
		if link != "up" {
			continue
		}
		linked++
		for _, side := range []struct{ name, file string }{{"this host", "ad_actor_oper_port_state"}, {"the switch", "ad_partner_oper_port_state"}} {
			text, err := read(sys, port, "bonding_slave/"+side.file)
			if err != nil {
				return "", err
			}
			// A port that has just joined has no state yet, which the kernel writes N/A.
			if state, err := strconv.ParseUint(text, 0, 16); err != nil || state&agreed != agreed {
				return fmt.Sprintf("%s does not send and receive on %s", side.name, port), nil
			}
		}
	}
	if linked == 0 {
		return "no port has a link", nil
	}
	return "", nil
}

// read returns what a file of a link says; empty if there is none: the link, or that it is a bond's, may just have gone.
func read(sys fs.FS, link, file string) (string, error) {
	data, err := fs.ReadFile(sys, path.Join(link, file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}
