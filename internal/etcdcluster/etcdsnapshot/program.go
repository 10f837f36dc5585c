package etcdsnapshot

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// Program returns the Tool of a path, as of etcdutl in an image.
func Program(path string) Tool {
	return func(ctx context.Context, args []string) error {
		out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, bytes.TrimSpace(out))
		}
		return nil
	}
}
