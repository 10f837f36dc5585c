// Package hostprogram has the paths of the binary host-network and its units on hosts, and renders the MachineConfig that installs them on the nodes of a
// role instead of the machine-config operator's service.
//
// It is pure.
package hostprogram

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// Paths below the root directory of the host.
const (
	Binary = "usr/local/bin/host-network"
	Units  = "etc/systemd/system"
	Config = "etc/NetworkManager/conf.d"
)

const (
	// StockUnit is the machine-config operator's service that selects and applies documents.
	StockUnit = "nmstate-configuration.service"
	// InstallUnit is the service that copies the binary to the host.
	InstallUnit = "host-network-install.service"
	// ImageFile is the file on the host with the name of the binary's image. It is in a directory whose changes do not restart nodes, and its
	// name begins with a dot, because readers of that directory skip such files.
	ImageFile = placement.Dir + "/.host-network.env"

	imageKey = "IMAGE="
	// dropIn makes host-network.service start InstallUnit.
	dropIn = "[Unit]\nWants=" + InstallUnit + "\nAfter=" + InstallUnit + "\n"
	// prefix is the prefix of the names of MachineConfigs; the rest is the role.
	prefix = "05-host-network-"
)

//go:embed assets/host-network-install.service
var installUnit string

// imageName matches image names that need no quotes in a unit.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// Name returns the name of the MachineConfig of a role.
func Name(role string) string { return prefix + role }

// RoleOf is the inverse of Name; ok is false for other names.
func RoleOf(name string) (role string, ok bool) { return strings.CutPrefix(name, prefix) }

// MachineConfig returns the object that makes the nodes of a role apply their documents with host-network, and masks StockUnit, since the two services would
// undo each other's changes. units are the units, and the configuration files for NetworkManager, which end in .conf. The result is deterministic, and has
// only labels and spec.config, so that it can be applied.
func MachineConfig(role, image string, units fs.FS) (*unstructured.Unstructured, error) {
	file, err := imageEntry(image)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(units, ".")
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	files := []any{file}
	all := []any{
		map[string]any{"name": InstallUnit, "contents": installUnit},
		map[string]any{"name": StockUnit, "mask": true, "enabled": false},
	}
	for _, e := range entries {
		content, err := fs.ReadFile(units, e.Name())
		if err != nil {
			return nil, fmt.Errorf("read unit: %w", err)
		}
		if path.Ext(e.Name()) == ".conf" {
			files = append(files, entry("/"+path.Join(Config, e.Name()), content))
			continue
		}
		all = append(all, unit(e.Name(), string(content)))
	}
	return object(role, map[string]any{
		"ignition": map[string]any{"version": machineconfig.IgnitionVersion},
		"storage":  map[string]any{"files": files},
		"systemd":  map[string]any{"units": all},
	}), nil
}

// WithImage returns the object of a role with the spec.config of an existing object and another image. If image is empty, it keeps the image.
func WithImage(role, image string, existing map[string]any) (*unstructured.Unstructured, error) {
	config, ok, err := unstructured.NestedMap(existing, "spec", "config")
	if err != nil {
		return nil, fmt.Errorf("read MachineConfig %s: %w", Name(role), err)
	}
	if !ok {
		return nil, fmt.Errorf("MachineConfig %s has no spec.config", Name(role))
	}
	if image == "" {
		return object(role, config), nil
	}
	file, err := imageEntry(image)
	if err != nil {
		return nil, err
	}
	if err := setFiles(config, append([]any{file}, otherFiles(config)...)); err != nil {
		return nil, err
	}
	return object(role, config), nil
}

// Restarting returns a digest of the parts of an object whose changes restart nodes: all except the image.
func Restarting(o map[string]any) (string, error) {
	config, _, err := unstructured.NestedMap(o, "spec", "config")
	if err != nil {
		return "", fmt.Errorf("read spec.config: %w", err)
	}
	if err := setFiles(config, otherFiles(config)); err != nil {
		return "", err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("encode spec.config: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}

func object(role string, config map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": config}}}
	o.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	o.SetName(Name(role))
	o.SetLabels(map[string]string{machineconfig.RoleLabel: role})
	return o
}

// unit returns a unit for Ignition, enabled if it has an [Install] section.
func unit(name, content string) map[string]any {
	u := map[string]any{"name": name, "contents": content}
	if strings.Contains(content, "\n[Install]\n") {
		u["enabled"] = true
	}
	if name == "host-network.service" {
		u["dropins"] = []any{map[string]any{"name": "10-install.conf", "contents": dropIn}}
	}
	return u
}

func imageEntry(image string) (map[string]any, error) {
	if !imageName.MatchString(image) {
		return nil, fmt.Errorf("%q is not the name of an image", image)
	}
	return entry(ImageFile, []byte(imageKey+image+"\n")), nil
}

func entry(path string, content []byte) map[string]any {
	return map[string]any{"path": path, "mode": int64(0o644), "overwrite": true, "contents": map[string]any{
		"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(content), "compression": ""}}
}

// otherFiles returns the files of an Ignition configuration except ImageFile.
func otherFiles(config map[string]any) []any {
	files, _, _ := unstructured.NestedSlice(config, "storage", "files")
	return slices.DeleteFunc(files, func(f any) bool {
		file, _ := f.(map[string]any)
		return file["path"] == ImageFile
	})
}

func setFiles(config map[string]any, files []any) error {
	if err := unstructured.SetNestedSlice(config, files, "storage", "files"); err != nil {
		return fmt.Errorf("set files of the MachineConfig: %w", err)
	}
	return nil
}
