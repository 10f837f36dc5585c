package netlinkovs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// writeResolvConf writes resolv.conf(5).
func writeResolvConf(path string, dns livestate.DNS) error {
	var b bytes.Buffer
	b.WriteString("# Written by host-network from this host's network configuration.\n")
	line := func(key string, words []string) {
		if len(words) > 0 {
			b.WriteString(key)
			for _, w := range words {
				b.WriteString(" " + w)
			}
			b.WriteString("\n")
		}
	}
	line("search", dns.Search)
	for _, server := range dns.Servers {
		fmt.Fprintf(&b, "nameserver %s\n", server)
	}
	line("options", dns.Options)
	return restoreFile(path, b.Bytes())
}

// restoreFile writes the content of a file, atomically if possible; nil removes the file. A bind-mounted file, as in containers and namespaces, cannot be
// replaced and is written in place.
func restoreFile(path string, data []byte) error {
	if existing, err := os.ReadFile(path); err == nil && data != nil && bytes.Equal(existing, data) {
		return nil
	}
	if data == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	err := durable.WriteFile(path, data, 0o644)
	if errors.Is(err, syscall.EBUSY) {
		return os.WriteFile(path, data, 0o644)
	}
	return err
}
