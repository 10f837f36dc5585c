// Package sysctl sets settings of the kernel.
package sysctl

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Set gives a setting, a path below root such as net/ipv4/ip_forward, a value. One that has it is not written, so that read-only
// settings do no harm. The error wraps fs.ErrNotExist if the kernel has no such setting.
func Set(root, name, value string) error {
	file := filepath.Join(root, name)
	have, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read kernel setting: %w", err)
	}
	current := strings.TrimSpace(string(have))
	if current == value {
		return nil
	}
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		return fmt.Errorf("kernel setting %s is %s and cannot be set to %s: %w", name, current, value, err)
	}
	return nil
}
