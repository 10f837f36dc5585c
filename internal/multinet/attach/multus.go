package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/utils"
)

// MultusDir is where Multus keeps what it has attached: a file for each sandbox, by the ID of its container.
const MultusDir = "/var/lib/cni/multus"

// maxMultusRecord bounds such a file.
const maxMultusRecord = 8 << 20

// delegated is an attachment in a file of Multus. The first is the default network.
type delegated struct {
	Name      string   `json:"Name"`
	Interface string   `json:"ifnameRequest"`
	MAC       string   `json:"macRequest"`
	IPs       []string `json:"ipRequest"`
	GUID      string   `json:"infinibandGUIDRequest"`
	DeviceID  string   `json:"deviceID"`
	// Bytes is the configuration, or the list, as it was run.
	Bytes []byte `json:"Bytes"`
}

// ofMultus returns what Multus has attached a sandbox to before this program was installed; nil if that is not known. A file that cannot be read is an
// error: without it nothing would remove what it names.
func (c *call) ofMultus() (*record, error) {
	// The ID is a part of a path.
	if err := utils.ValidateContainerID(c.request.ContainerID); err != nil {
		return nil, nil //nolint:nilerr // no sandbox of Multus has such an ID
	}
	file := filepath.Join(c.Multus, c.request.ContainerID)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err == nil && info.Size() > maxMultusRecord {
		err = fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), maxMultusRecord)
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(file)
	}
	var all []delegated
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("read what Multus has recorded of the sandbox in %s: %w", file, err)
	}
	r := &record{ContainerID: c.request.ContainerID, NetNS: c.request.NetNS, Args: c.args}
	for i, d := range all {
		n := network{Name: d.Name, Interface: d.Interface, List: d.Bytes, Default: i == 0}
		switch {
		case i == 0:
			n.Interface, n.Runtime = c.request.IfName, c.defaultRuntime().CapabilityArgs
		case n.Interface == "":
			n.Interface = fmt.Sprintf("net%d", i)
		}
		if i > 0 {
			n.Runtime = d.runtime()
		}
		r.Networks = append(r.Networks, n)
	}
	if len(r.Networks) == 0 {
		return nil, nil
	}
	return r, nil
}

// runtime has the values of capabilities.
func (d delegated) runtime() map[string]any {
	values := map[string]any{}
	for name, value := range map[string]string{"mac": d.MAC, "infinibandGUID": d.GUID, "deviceID": d.DeviceID} {
		if value != "" {
			values[name] = value
		}
	}
	if len(d.IPs) > 0 {
		values["ips"] = d.IPs
	}
	return values
}

// forgetMultus removes the file of Multus.
func (c *call) forgetMultus() error {
	if err := os.Remove(filepath.Join(c.Multus, c.request.ContainerID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what Multus has recorded of the sandbox: %w", err)
	}
	return nil
}
