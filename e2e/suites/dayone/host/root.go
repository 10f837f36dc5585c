package host

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cluster-network-operator/cno/internal/image"
)

// packages are Debian's programs on a host.
func packages() []string {
	return []string{
		"coreutils", "dash", "dbus", "dnsmasq-base", "ethtool", "hostname", "iproute2", "iputils-ping", "network-manager",
		"openvswitch-switch",
	}
}

// Root is a directory with the root file system that all hosts share; none of them has written to it. It is made in
// the cache when it is not there. Nothing is installed on the machine, and no maintainer script runs.
func Root(ctx context.Context, cache string, progress func(string)) (string, error) {
	work, err := os.MkdirTemp("", "host-root-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	archive := filepath.Join(work, "image.tar")
	spec := image.Spec{Reference: "localhost/cno/test-host:1", DebianPackages: packages()}
	if err := (image.Builder{Cache: cache, Progress: progress}).Build(ctx, spec, archive); err != nil {
		return "", err
	}
	layer, err := onlyLayer(archive)
	if err != nil {
		return "", fmt.Errorf("read the image of hosts: %w", err)
	}
	root := filepath.Join(cache, "hosts", strings.TrimSuffix(layer, ".tar"))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	unpacked := filepath.Join(work, "root")
	if err := unpack(ctx, archive, layer, work, unpacked); err != nil {
		return "", fmt.Errorf("unpack the image of hosts: %w", err)
	}
	return root, keep(ctx, unpacked, root)
}

// onlyLayer names the one layer in a docker-archive.
func onlyLayer(archive string) (string, error) {
	f, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if err != nil {
			return "", err
		}
		if h.Name != "manifest.json" {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return "", err
		}
		var manifest []struct{ Layers []string }
		if err := json.Unmarshal(data, &manifest); err != nil {
			return "", err
		}
		if len(manifest) != 1 || len(manifest[0].Layers) != 1 {
			return "", errors.New("it has not one layer")
		}
		return manifest[0].Layers[0], nil
	}
}

// unpack writes a layer to a directory, and adds what the packages' scripts would have added.
func unpack(ctx context.Context, archive, layer, work, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, args := range [][]string{{"-xf", archive, "-C", work, layer}, {"-xf", filepath.Join(work, layer), "-C", to}} {
		if out, err := exec.CommandContext(ctx, "tar", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("tar %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	// pivot_root needs a place for the old root.
	if err := os.MkdirAll(filepath.Join(to, "mnt"), 0o755); err != nil {
		return err
	}
	return addUser(to, "messagebus", 101)
}

func addUser(root, name string, id int) error {
	for file, line := range map[string]string{
		"etc/passwd": fmt.Sprintf("%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n", name, id, id),
		"etc/group":  fmt.Sprintf("%s:x:%d:\n", name, id),
	} {
		f, err := os.OpenFile(filepath.Join(root, file), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(line)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// keep moves a directory to its place in the cache, whose disk may be another, in one last step. Another process may have
// been faster, with the same content.
func keep(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(to), ".partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	copied := filepath.Join(partial, "root")
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, copied).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	if err := os.Rename(copied, to); err != nil {
		if _, statErr := os.Stat(to); statErr == nil {
			return nil
		}
		return err
	}
	return nil
}
