// Package sysctl sets sysctls.
package sysctl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Set sets a sysctl, which is a path below root such as net/ipv4/ip_forward. It does not write an equal value, so that a read-only sysctl with the
// desired value is no error. The error wraps fs.ErrNotExist if the kernel has no such sysctl.
func Set(root, name, value string) error {
	file := filepath.Join(root, name)
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read kernel setting: %w", err)
	}
	current := strings.TrimSpace(string(content))
	if current == value {
		return nil
	}
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		return fmt.Errorf("kernel setting %s is %s and cannot be set to %s: %w", name, current, value, err)
	}
	return nil
}
