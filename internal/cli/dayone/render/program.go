package render

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hostnetwork "github.com/cluster-network-operator/cno/config/host-network"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/install"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/rivals"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
)

//go:embed assets/host-network-install.service
var installUnit string

// The unit that copies the program onto the host, and the drop-in with which host-network.service asks for it.
const (
	installUnitName = "host-network-install.service"
	installDropIn   = "[Unit]\nWants=" + installUnitName + "\nAfter=" + installUnitName + "\n"
)

// imageName is what a unit can name without quotes.
var imageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)

// programConfig returns the MachineConfig that makes nodes of a role apply their documents with host-network in place of the
// machine-config operator's own service, which it masks: two programs would undo each other's work.
func programConfig(role, image string) (*unstructured.Unstructured, error) {
	if !imageName.MatchString(image) {
		return nil, fmt.Errorf("--host-network-image %q is not the name of an image", image)
	}
	units := []any{
		map[string]any{"name": installUnitName, "contents": strings.ReplaceAll(installUnit, "@IMAGE@", image)},
		map[string]any{"name": rivals.Unit, "mask": true, "enabled": false},
	}
	files := []any{}
	entries, err := fs.ReadDir(hostnetwork.Files, ".")
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	for _, e := range entries {
		content, err := fs.ReadFile(hostnetwork.Files, e.Name())
		if err != nil {
			return nil, fmt.Errorf("read unit: %w", err)
		}
		if path.Ext(e.Name()) == ".conf" {
			files = append(files, map[string]any{
				"path": "/" + path.Join(install.Config, e.Name()), "mode": int64(0o644), "overwrite": true,
				"contents": map[string]any{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(content), "compression": ""},
			})
			continue
		}
		unit := map[string]any{"name": e.Name(), "contents": string(content)}
		if strings.Contains(string(content), "\n[Install]\n") {
			unit["enabled"] = true
		}
		if e.Name() == "host-network.service" {
			unit["dropins"] = []any{map[string]any{"name": "10-install.conf", "contents": installDropIn}}
		}
		units = append(units, unit)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": map[string]any{
		"ignition": map[string]any{"version": "3.2.0"},
		"storage":  map[string]any{"files": files},
		"systemd":  map[string]any{"units": units},
	}}}}
	object.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	object.SetName("05-host-network-" + role)
	object.SetLabels(map[string]string{machineconfig.RoleLabel: role})
	return object, nil
}
