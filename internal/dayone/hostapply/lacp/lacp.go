// Package lacp waits for the LACP negotiation of bonds. A bond in mode 802.3ad is up before the switch forwards its packets, and DHCP requests fail until
// then. The package only reads files of the kernel.
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
	// limit is the maximum time to wait. Both sides answer within a second, and ports that just came up within some seconds.
	limit = 5 * time.Second
	poll  = 100 * time.Millisecond

	// agreed are the bits Collecting and Distributing of a port's state (IEEE 802.1AX, 6.4.2.3).
	agreed = 0x10 | 0x20
)

// Await waits until all ports with a link of the bonds in mode 802.3ad collect and distribute on both sides. After five seconds, it logs a warning and
// returns, since the bond may work partially, which the verification detects. It ignores other interfaces. sys is /sys/class/net; wait sleeps for a
// duration or returns the context's error.
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
			log.Warn("LACP negotiation with the switch is incomplete; continuing", "bonds", strings.Join(open, "; "), "waited", limit)
			return nil
		}
		if err := wait(ctx, poll); err != nil {
			return fmt.Errorf("wait for LACP: %w", err)
		}
	}
}

// missing describes the incomplete negotiation of a bond; empty if it is complete, or the bond is not in mode 802.3ad.
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
			// The state of a port that has just joined is N/A.
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

// read returns the content of a link's file; empty if the file does not exist, since the link may just have been removed from the bond.
func read(sys fs.FS, link, file string) (string, error) {
	data, err := fs.ReadFile(sys, path.Join(link, file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}
