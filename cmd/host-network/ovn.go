package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
)

// forgottenFile holds the boot in which OVN's controller was last told to forget where its flows come from.
const forgottenFile = "ovn-forgotten"

// oncePerBoot has OVN's controller forget what it was told before this boot, by forget. A later run in the same boot must not:
// OVN may work by then. A host without Open vSwitch has nothing to forget, and may start it later.
func oncePerBoot(ctx context.Context, dir, boot string, forget func(context.Context) error) error {
	file := filepath.Join(dir, forgottenFile)
	if data, err := os.ReadFile(file); err == nil && string(data) == boot {
		return nil
	}
	switch err := forget(ctx); {
	case errors.Is(err, ovsbridge.ErrAbsent):
		return nil
	case err != nil:
		return fmt.Errorf("clear ovn-remote: %w", err)
	}
	return os.WriteFile(file, []byte(boot), 0o600)
}
