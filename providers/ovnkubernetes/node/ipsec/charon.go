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

// plugins are charon's plugins for both ESP implementations.
var plugins = []string{
	"random", "nonce", "openssl", "pem", "pkcs1", "pkcs8", "x509", "constraints", "pubkey", "hmac", "kdf", "socket-default", "kernel-netlink", "vici",
}

// configuration returns the content of strongswan.conf. Files of the node are not read. more are plugins of the ESP implementation, which come first: charon
// uses the first plugin that can install keys.
//
// The userspace plugin routes all packets to a peer to its interface, and drops packets without a child, including those of the key exchange. Its routes are
// in an unused table, whose rule comes after those of the kernel.
//
// A lost packet of the key exchange is repeated after one second, and a peer that does not respond for about eight seconds is given up, so that a replaced
// node is detected. Reauthentication precedes the removal of the former keys.
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

// daemon is the process of charon.
type daemon struct {
	// runDir has the socket and the configuration. It must not be shared between nodes.
	runDir string
	// command starts charon; tests run it with a separate /run.
	command []string
	log     *slog.Logger
	// reasons receives charon's errors about peers.
	reasons *reasons
}

func (d daemon) socket() string { return filepath.Join(d.runDir, "charon.vici") }

// run runs charon until the context ends, and restarts it whenever it ends. started is called with its process ID.
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

// line matches a log line of charon about a connection: its name and the message.
var line = regexp.MustCompile(`<(` + namePrefix + `[^|>]+)\|\d+> (.*)`)

// errorWords are words in messages that explain missing keys.
var errorWords = []string{"failed", "unable", "error", "invalid", "no trusted", "not found", "giving up", "no private key"}

// level returns the level of a log line, since charon's log has no levels. Routine messages have level debug.
func (d daemon) level(text string) slog.Level {
	if !slices.ContainsFunc(errorWords, func(word string) bool { return strings.Contains(text, word) }) {
		return slog.LevelDebug
	}
	if parts := line.FindStringSubmatch(text); parts != nil {
		d.reasons.set(parts[1], parts[2])
	}
	return slog.LevelWarn
}
