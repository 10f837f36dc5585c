package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/durable"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// DeviceInfoDir has the files of the Device Information Specification: those of device plugins in dp, those of CNI plugins in cni.
	DeviceInfoDir = "/var/run/k8s.cni.cncf.io/devinfo"
	// capabilityDeviceInfo has a plugin get the name of the file that it may write.
	capabilityDeviceInfo = "CNIDeviceInfoFile"
	// maxDeviceInfo bounds such a file.
	maxDeviceInfo = 64 << 10
)

// prepareDevice gives a network that declares the capability the file for what its plugin knows of the device. It has what the device plugin
// has written, if that has.
func (c *call) prepareDevice(n *network, a wire.Attachment) error {
	if !declares(n.List, capabilityDeviceInfo) {
		return nil
	}
	file := filepath.Join(c.DeviceInfo, "cni", plain(n.Name)+"-"+c.request.ContainerID+"_"+plain(n.Interface))
	if n.Runtime == nil {
		n.Runtime = map[string]any{}
	}
	n.Runtime[capabilityDeviceInfo] = file
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // plugins and monitors of other users read it
		return fmt.Errorf("create the directory of device information: %w", err)
	}
	info, err := readDeviceInfo(c.devicePluginFile(a))
	if err != nil || info == nil {
		return err
	}
	return durable.WriteFile(file, info, 0o444)
}

// devicePluginFile is the file of a device plugin for the device of an attachment; empty if it has none.
func (c *call) devicePluginFile(a wire.Attachment) string {
	if a.Resource == "" || a.DeviceID == "" {
		return ""
	}
	return filepath.Join(c.DeviceInfo, "dp", plain(a.Resource)+"-"+plain(a.DeviceID)+"-device.json")
}

// deviceInfo is what is known of the device of a network that is attached.
func (c *call) deviceInfo(n network, a wire.Attachment) (json.RawMessage, error) {
	if file, ok := n.Runtime[capabilityDeviceInfo].(string); ok {
		return readDeviceInfo(file)
	}
	return readDeviceInfo(c.devicePluginFile(a))
}

// forgetDevice removes the file of a network.
func (n network) forgetDevice() error {
	file, ok := n.Runtime[capabilityDeviceInfo].(string)
	if !ok {
		return nil
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove device information: %w", err)
	}
	return nil
}

// readDeviceInfo reads a file of device information; nil if there is none. One that is not what the specification says is an error: the pod
// would be described by it.
func readDeviceInfo(file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxDeviceInfo) {
		err = fmt.Errorf("it is no file of at most %d bytes", maxDeviceInfo)
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(file)
	}
	var head struct{ Type, Version string }
	if err == nil {
		err = json.Unmarshal(raw, &head)
	}
	if err == nil && (head.Type == "" || head.Version == "") {
		err = errors.New("type or version is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("read the device information %s: %w", file, err)
	}
	return raw, nil
}

// plain is a name as a part of a name of a file.
func plain(name string) string { return strings.ReplaceAll(name, "/", "-") }

// declares reports whether a plugin of a list declares a capability.
func declares(list json.RawMessage, capability string) bool {
	var l struct {
		Plugins []struct{ Capabilities map[string]bool }
	}
	return json.Unmarshal(list, &l) == nil && slices.ContainsFunc(l.Plugins, func(p struct{ Capabilities map[string]bool }) bool { return p.Capabilities[capability] })
}
