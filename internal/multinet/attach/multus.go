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

// MultusDir is the directory where Multus records attachments: a file for each sandbox, named by the container ID.
const MultusDir = "/var/lib/cni/multus"

// maxMultusRecordSize is the maximum size of a file of Multus in bytes.
const maxMultusRecordSize = 8 << 20

// delegated is an attachment in a file of Multus. The first attachment of a file is the default network.
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

// multusRecord returns the attachments of a sandbox that Multus made before multus-shim was installed; nil if Multus has no record. A file that cannot
// be read is an error, because its attachments would never be removed.
func (c *call) multusRecord() (*record, error) {
	// The ID is a part of a path.
	if err := utils.ValidateContainerID(c.request.ContainerID); err != nil {
		return nil, nil //nolint:nilerr // no sandbox of Multus has such an ID
	}
	file := filepath.Join(c.Multus, c.request.ContainerID)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err == nil && info.Size() > maxMultusRecordSize {
		err = fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), maxMultusRecordSize)
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
		return nil, fmt.Errorf("read the Multus record of the sandbox %s: %w", file, err)
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

// runtime returns the values of capabilities.
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

// removeMultusRecord removes the sandbox's file of Multus.
func (c *call) removeMultusRecord() error {
	if err := os.Remove(filepath.Join(c.Multus, c.request.ContainerID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the Multus record of the sandbox: %w", err)
	}
	return nil
}
