package networks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// overlay is a directory that is built for Kit.Overlay.
type overlay struct {
	kit *kit.Kit
	// dir is the directory, programs the directory of this module's binaries for images.
	dir, programs string
}

// newOverlay creates the empty directory.
func newOverlay(k *kit.Kit, name string) (overlay, error) {
	dir := filepath.Join(k.Root, "_output", name)
	o := overlay{kit: k, dir: dir, programs: filepath.Join(dir, "build", "_output", runtime.GOOS, runtime.GOARCH)}
	if err := os.RemoveAll(dir); err != nil {
		return overlay{}, err
	}
	return o, os.MkdirAll(o.programs, 0o755)
}

// images builds the images that directories of the checkout define.
func (o overlay) images(directories ...string) error {
	build := filepath.Join(o.dir, "build")
	for _, directory := range directories {
		definition := filepath.Join(build, "images", filepath.Base(directory))
		if err := os.MkdirAll(definition, 0o755); err != nil {
			return err
		}
		if err := o.run("", "cp", directory+"/image.yaml", definition); err != nil {
			return err
		}
	}
	if err := o.run("", "go", "run", "./hack/mkimages", "-root", build, "-components", filepath.Join(o.kit.Root, "_output/lab/bin")); err != nil {
		return err
	}
	return os.Rename(filepath.Join(build, "_output", "images"), filepath.Join(o.dir, "images"))
}

// run runs a command in the checkout, and writes its output to a file of the overlay unless the name is empty.
func (o overlay) run(output string, arguments ...string) error {
	cmd := exec.CommandContext(context.Background(), arguments[0], arguments[1:]...)
	cmd.Dir, cmd.Env = o.kit.Root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return fmt.Errorf("%v: %w", arguments, err)
	}
	if output == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(o.dir, output), out, 0o644)
}
