package node

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// runNFT runs nft and returns what it prints.
func runNFT(ctx context.Context, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "nft", arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("nft %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
