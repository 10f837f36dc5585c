package etcdsnapshot

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// Command returns a Tool that runs the executable at a path.
func Command(path string) Tool {
	return func(ctx context.Context, args []string) error {
		out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, bytes.TrimSpace(out))
		}
		return nil
	}
}
