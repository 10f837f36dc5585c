package kit

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// CNO runs cno against the lab with input as its standard input, and returns its output and its exit status. It returns an
// error only if the binary could not be run.
func (k *Kit) CNO(ctx context.Context, input string, args ...string) (out string, status int, err error) {
	return k.cno(ctx, filepath.Join(k.Root, "_output", runtime.GOOS, runtime.GOARCH, "cno"), input, args)
}

func (k *Kit) cno(ctx context.Context, program, input string, args []string) (out string, status int, err error) {
	out, err = k.run(ctx, program, strings.NewReader(input), append(args, "--kubeconfig", k.Kubeconfig())...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return err.Error(), exit.ExitCode(), nil
	}
	return out, 0, err
}
