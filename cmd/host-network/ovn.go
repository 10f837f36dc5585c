package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// forgottenFile has the ID of the boot in which ovn-remote was last cleared.
const forgottenFile = "ovn-forgotten"

// oncePerBoot calls forget, which clears ovn-remote as it was before this boot. A later run in the same boot must not clear it, because
// OVN may use it by then. A host without Open vSwitch has no such setting, and may start Open vSwitch later.
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
	return durable.WriteFile(file, []byte(boot), 0o600)
}
