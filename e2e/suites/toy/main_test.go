// Package toy holds what a new network gets without work of its own, proven with the network that docs/adding-a-network.md builds: the
// operator renders it, its roles and policies are generated, and its agent serves CNI with the shared server and shim.
package toy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/version"
)

var lab *kit.Kit

func TestMain(m *testing.M) {
	os.Exit(kit.MainOverlay(m, &lab, overlay, "../../e2e/suites/toy/network.yaml"))
}

// tag builds programs with the toy network in the list of networks.
const tag = "-tags=toynetwork"

// overlay builds what a checkout with the toy network in its list has: the operator, the network's image, and what generators write
// into config.
func overlay(k *kit.Kit) (string, error) {
	dir := filepath.Join(k.Root, "_output", "toy")
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	build := filepath.Join(dir, "build")
	bin := filepath.Join(build, "_output", runtime.GOOS, runtime.GOARCH)
	if err := os.MkdirAll(filepath.Join(build, "images", "toy"), 0o755); err != nil {
		return "", err
	}
	for _, step := range []struct {
		output    string
		arguments []string
	}{
		{"", []string{"cp", "-a", "config", "api", dir}},
		{"", []string{"go", "build", tag, "-o", bin + "/cluster-network-operator", "./cmd/cluster-network-operator"}},
		{"", []string{"go", "build", "-o", bin + "/toy-agent", "./cmd/toy-agent"}},
		{"", []string{"go", "build", "-o", bin + "/toy", "./cmd/cno-cni"}},
		{"config/rbac/networks.yaml", []string{"go", "run", tag, "./hack/mkrbac"}},
		{"config/admission/policies.yaml", []string{"go", "run", tag, "./hack/mkadmission"}},
		{"", []string{"cp", "-a", "images/cluster-network-operator", build + "/images/"}},
		{"", []string{"cp", "e2e/suites/toy/image.yaml", build + "/images/toy/"}},
		{"", []string{"go", "run", "./hack/mkimages", "-root", build, "-components", filepath.Join(k.Root, "_output/lab/bin")}},
		{"", []string{"mv", build + "/_output/images", dir + "/images"}},
	} {
		cmd := exec.CommandContext(context.Background(), step.arguments[0], step.arguments[1:]...)
		cmd.Dir, cmd.Env = k.Root, append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			if failed, ok := errors.AsType[*exec.ExitError](err); ok {
				err = fmt.Errorf("%w: %s", err, failed.Stderr)
			}
			return "", fmt.Errorf("%v: %w", step.arguments, err)
		}
		if step.output != "" {
			if err := os.WriteFile(filepath.Join(dir, step.output), out, 0o644); err != nil {
				return "", err
			}
		}
	}
	return dir, addImage(filepath.Join(dir, "config/default/kustomization.yaml"))
}

// addImage tells the operator where the network's image is.
func addImage(file string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "  - TOY_IMAGE=localhost/cno/toy:%s\n", version.Default)
	return err
}
