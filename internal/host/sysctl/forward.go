package sysctl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ForwardIPv6 enables IPv6 forwarding. It sets accept_ra to 2 on interfaces that accept router advertisements: with forwarding, the kernel ignores
// advertisements otherwise, and the node would lose its default route.
func ForwardIPv6(root string) error {
	const dir = "net/ipv6/conf"
	interfaces, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		return fmt.Errorf("list sysctls of interfaces: %w", err)
	}
	var errs []error
	for _, i := range interfaces {
		name := filepath.Join(dir, i.Name(), "accept_ra")
		if content, err := os.ReadFile(filepath.Join(root, name)); err == nil && strings.TrimSpace(string(content)) == "1" {
			// The interface may have been deleted.
			if err := Set(root, name, "2"); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return Set(root, dir+"/all/forwarding", "1")
}
