package ipsec

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
)

// plugins are what both ways of encryption need.
var plugins = []string{
	"random", "nonce", "openssl", "pem", "pkcs1", "pkcs8", "x509", "constraints", "pubkey", "hmac", "kdf", "socket-default", "kernel-netlink", "vici",
}

// configuration returns the text of strongswan.conf. Files of the node are not read. more are plugins of the way of encryption, which come
// first: of two plugins that can install keys charon uses the first.
//
// The plugin for user space routes all packets to a peer to its interface, and drops what no child covers, keys included. Its routes are in a table that
// is not used: the rule for it comes after those of the kernel.
//
// A lost packet of the key exchange is repeated after one second, and a peer that does not answer for about eight seconds is given up, so that a node that
// was replaced is noticed. Certificates are presented again before the former keys are removed.
func configuration(socket string, more ...string) string {
	return fmt.Sprintf(`charon {
  load_modular = no
  load = %[1]s
  install_routes = no
  routing_table = %[2]d
  routing_table_prio = %[3]d
  install_virtual_ip = no
  make_before_break = yes
  retransmit_timeout = 1
  retransmit_base = 1.5
  retransmit_tries = 3
  half_open_timeout = 15
  delete_rekeyed_delay = 5
  cisco_unity = no
  plugins {
    vici {
      socket = unix://%[4]s
    }
    kernel-libipsec {
      allow_peer_ts = yes
    }
  }
  filelog {
    stderr {
      default = 1
      ike_name = yes
      flush_line = yes
    }
  }
}
`, strings.Join(slices.Concat(more, plugins), " "), unusedTable, unusedPriority, socket)
}

// daemon is charon as a process.
type daemon struct {
	// runDir has the socket and the configuration. It must not be shared between nodes.
	runDir string
	// command starts charon; tests give it a /run of its own.
	command []string
	log     *slog.Logger
	// reasons gets what charon says of a peer with which it cannot agree.
	reasons *reasons
}

func (d daemon) socket() string { return filepath.Join(d.runDir, "charon.vici") }

// run runs charon until the context ends, and again whenever it ends. started is called with its process.
func (d daemon) run(ctx context.Context, e ESP, started func(pid int)) error {
	if err := os.MkdirAll(d.runDir, 0o700); err != nil {
		return fmt.Errorf("create directory of charon: %w", err)
	}
	file := filepath.Join(d.runDir, "strongswan.conf")
	if err := os.WriteFile(file, []byte(configuration(d.socket(), e.plugins()...)), 0o600); err != nil {
		return fmt.Errorf("write configuration of charon: %w", err)
	}
	return ovs.Daemon{
		Name: d.command[0], Arguments: d.command[1:], Environment: []string{"STRONGSWAN_CONF=" + file}, Log: d.log, Level: d.level,
		Started: func(pid int) error { started(pid); return nil },
	}.Keep(ctx)
}

// line matches a line of charon about a connection: its name, and what is said.
var line = regexp.MustCompile(`<(` + namePrefix + `[^|>]+)\|\d+> (.*)`)

// bad are words of lines that say why there are no keys.
var bad = []string{"failed", "unable", "error", "invalid", "no trusted", "not found", "giving up", "no private key"}

// level is that of a line of charon, which has no levels in its log. What it repeats for each exchange of keys is for debugging.
func (d daemon) level(text string) slog.Level {
	if !slices.ContainsFunc(bad, func(word string) bool { return strings.Contains(text, word) }) {
		return slog.LevelDebug
	}
	if parts := line.FindStringSubmatch(text); parts != nil {
		d.reasons.set(parts[1], parts[2])
	}
	return slog.LevelWarn
}
