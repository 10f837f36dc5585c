package sysctl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ForwardIPv6 has the kernel forward IPv6 packets between interfaces. Interfaces that take routes and addresses from router advertisements go
// on doing so: the kernel ignores advertisements on hosts that forward unless accept_ra is 2, and the node would lose its default route.
func ForwardIPv6(root string) error {
	const dir = "net/ipv6/conf"
	interfaces, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		return fmt.Errorf("list the kernel's settings of interfaces: %w", err)
	}
	var errs []error
	for _, i := range interfaces {
		name := filepath.Join(dir, i.Name(), "accept_ra")
		if have, err := os.ReadFile(filepath.Join(root, name)); err == nil && strings.TrimSpace(string(have)) == "1" {
			// An interface may be deleted at any moment.
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
