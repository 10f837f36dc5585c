package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/cluster-network-operator/cno/e2e/lab/component"
	"github.com/cluster-network-operator/cno/e2e/lab/image"
)

// Build builds the components that are missing and links all named ones, or the
// whole catalogue, into the layout's directory of binaries for an architecture; empty means that of this machine.
func Build(ctx context.Context, h Host, arch string, names []string) error {
	list, err := component.Select(names)
	if err != nil {
		return err
	}
	b := component.Builder{Modules: h.Layout.Components(), Cache: h.Layout.Cache, Arch: arch}
	return b.Ensure(ctx, list, h.Layout.ProgramsFor(arch), component.Report{Out: h.Out, Now: h.Now})
}

// BuildKubernetes builds the programs of nodes of a version of Kubernetes, and links them into the layout's directory for the version.
func BuildKubernetes(ctx context.Context, h Host, version string) error {
	list, err := component.Cluster(version)
	if err != nil {
		return err
	}
	b := component.Builder{Modules: h.Layout.Components(), Cache: h.Layout.Cache}
	return b.Ensure(ctx, list, h.Layout.ProgramsOf(version), component.Report{Out: h.Out, Now: h.Now})
}

// BuildImages builds the lab's own images, whose components must have been built,
// and links those that every node gets into the layout's image directory. With
// conformance set, it builds and returns the archives of the additional images
// that conformance tests need instead.
func BuildImages(ctx context.Context, h Host, conformance bool) ([]string, error) {
	agnhost, err := kubernetesSource(ctx, h.Layout.Components())
	if err != nil {
		return nil, err
	}
	sources := image.Sources{Bin: h.Layout.Bin(), Agnhost: filepath.Join(agnhost, "test/images/agnhost")}
	b := image.Builder{Cache: h.Layout.Cache, Out: h.Out}
	if conformance {
		return b.Build(ctx, image.Conformance(sources))
	}
	paths, err := b.Build(ctx, image.Default(sources))
	if err != nil {
		return nil, err
	}
	return paths, linkImages(paths, h.Layout.Images())
}

func linkImages(paths []string, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove old images: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the image directory: %w", err)
	}
	for _, path := range paths {
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return fmt.Errorf("link an image: %w", err)
		}
	}
	return nil
}

// kubernetesSource returns the directory of Kubernetes' source in the module
// cache. It downloads the module if it is missing.
func kubernetesSource(ctx context.Context, components string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", "k8s.io/kubernetes")
	cmd.Dir = filepath.Join(components, "kubernetes")
	out, err := outputOf(cmd, "go mod download")
	if err != nil {
		return "", fmt.Errorf("find the source of Kubernetes: %w", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("find the source of Kubernetes: %w", err)
	}
	return module.Dir, nil
}
