// Package hostprogram is how the program host-network comes to a host: where it and its units are, and the MachineConfig that
// installs them on the nodes of a role in place of the machine-config operator's own service.
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

// Where things are, below the root of the host.
const (
	Binary = "usr/local/bin/host-network"
	Units  = "etc/systemd/system"
	Config = "etc/NetworkManager/conf.d"
)

const (
	// StockUnit is the service with which the machine-config operator's nodes select and apply documents.
	StockUnit = "nmstate-configuration.service"
	// InstallUnit is the service that copies the program onto the host.
	InstallUnit = "host-network-install.service"
	// ImageFile is the file on the host that names the image of the program. It is in the directory for whose files the
	// machine-config operator restarts no node, and its name begins with a dot, which readers of that directory skip.
	ImageFile = placement.Dir + "/.host-network.env"

	imageKey = "IMAGE="
	// dropIn is how host-network.service asks for InstallUnit.
	dropIn = "[Unit]\nWants=" + InstallUnit + "\nAfter=" + InstallUnit + "\n"
	// prefix begins the names of MachineConfigs; the rest is the role.
	prefix = "05-host-network-"
)

//go:embed assets/host-network-install.service
var installUnit string

// imageName is what a unit can name without quotes.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// Name is the name of the MachineConfig of a role.
func Name(role string) string { return prefix + role }

// RoleOf is the reverse of Name. ok is false for the name of another object.
func RoleOf(name string) (role string, ok bool) { return strings.CutPrefix(name, prefix) }

// MachineConfig returns the object that makes the nodes of a role apply their documents with host-network, and masks StockUnit: two programs
// would undo each other's work. units are those of the program, and its files for NetworkManager, which end in .conf. The same
// arguments always give the same object, with labels and spec.config only, so that it can be applied.
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

// WithImage returns the object of a role with the spec.config of an existing one and another image. An empty image is the one that it has.
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

// Restarting returns a digest of all in an object for which the machine-config operator restarts a node: everything but the image.
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

// otherFiles returns the files of an Ignition configuration without the one that names the image.
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
