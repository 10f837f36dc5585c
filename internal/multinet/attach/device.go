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
	// DeviceInfoDir is the directory of the Device Information Specification: files of device plugins are in dp, those of CNI plugins in cni.
	DeviceInfoDir = "/var/run/k8s.cni.cncf.io/devinfo"
	// capabilityDeviceInfo is the capability of plugins that write a device information file; its value is the file name.
	capabilityDeviceInfo = "CNIDeviceInfoFile"
	// maxDeviceInfoSize is the maximum size of a device information file in bytes.
	maxDeviceInfoSize = 64 << 10
)

// prepareDevice creates the device information file of a network whose plugin declares the capability. The file starts with the content that the
// device plugin wrote, if any.
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

// devicePluginFile returns the path of the device plugin's file for the device of an attachment; empty if the attachment has no device.
func (c *call) devicePluginFile(a wire.Attachment) string {
	if a.Resource == "" || a.DeviceID == "" {
		return ""
	}
	return filepath.Join(c.DeviceInfo, "dp", plain(a.Resource)+"-"+plain(a.DeviceID)+"-device.json")
}

// deviceInfo returns the device information of an attached network; nil if there is none.
func (c *call) deviceInfo(n network, a wire.Attachment) (json.RawMessage, error) {
	if file, ok := n.Runtime[capabilityDeviceInfo].(string); ok {
		return readDeviceInfo(file)
	}
	return readDeviceInfo(c.devicePluginFile(a))
}

// removeDeviceInfo removes the device information file of a network.
func (n network) removeDeviceInfo() error {
	file, ok := n.Runtime[capabilityDeviceInfo].(string)
	if !ok {
		return nil
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove device information: %w", err)
	}
	return nil
}

// readDeviceInfo reads a device information file; nil if it does not exist. A file that violates the specification is an error, because it would
// become part of the pod's status.
func readDeviceInfo(file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxDeviceInfoSize) {
		err = fmt.Errorf("it is no file of at most %d bytes", maxDeviceInfoSize)
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

// plain returns a name in a form that can be part of a file name.
func plain(name string) string { return strings.ReplaceAll(name, "/", "-") }

// declares reports whether a plugin of a list declares a capability.
func declares(list json.RawMessage, capability string) bool {
	var l struct {
		Plugins []struct{ Capabilities map[string]bool }
	}
	return json.Unmarshal(list, &l) == nil && slices.ContainsFunc(l.Plugins, func(p struct{ Capabilities map[string]bool }) bool { return p.Capabilities[capability] })
}
