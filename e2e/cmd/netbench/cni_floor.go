package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
)

// pluginDir is the directory of the CNI plugins of a node.
const pluginDir = "/opt/cni/bin"

// floorBridge is the name of the bridge of the floor, and of its network.
const floorBridge = "netbench0"

// direct invokes the plugins with which flannel attaches a pod (bridge with host-local, portmap) directly, one after the other, each with
// its configuration on standard input, without libcni, cache or validation. Its duration is the minimum that an ADD can take with
// standard plugins. It has a bridge and addresses of its own, so that it runs on a node with any network.
type direct struct {
	// dir is the directory of the plugins.
	dir     string
	plugins []map[string]any
}

// newDirect returns the floor with the plugins in a directory.
func newDirect(dir string) *direct {
	return &direct{dir: dir, plugins: []map[string]any{
		{
			"type": "bridge", "bridge": floorBridge, "isGateway": true, "isDefaultGateway": true, "forceAddress": true, "hairpinMode": true, "mtu": 1500,
			// The addresses are those that are reserved for benchmarks.
			"ipam": map[string]any{"type": "host-local", "ranges": [][]map[string]string{{{"subnet": "198.18.0.0/16"}}}},
		},
		{"type": "portmap"},
	}}
}

// attach invokes ADD of each plugin with the result of the previous one.
func (p *direct) attach(ctx context.Context, i int, path string) error {
	var result json.RawMessage
	for _, plugin := range p.plugins {
		out, err := p.call(ctx, "ADD", sandbox(i), path, plugin, result)
		if err != nil {
			return err
		}
		result = out
	}
	return nil
}

// detach invokes DEL of each plugin in reverse order.
func (p *direct) detach(ctx context.Context, i int, path string) error {
	for _, plugin := range slices.Backward(p.plugins) {
		if _, err := p.call(ctx, "DEL", sandbox(i), path, plugin, nil); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the bridge.
func (p *direct) remove() error {
	link, err := netlink.LinkByName(floorBridge)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

func (p *direct) call(ctx context.Context, command, id, path string, plugin map[string]any, previous json.RawMessage) ([]byte, error) {
	kind, _ := plugin["type"].(string)
	conf := map[string]any{"cniVersion": "1.0.0", "name": floorBridge}
	maps.Copy(conf, plugin)
	if previous != nil {
		conf["prevResult"] = previous
	}
	input, err := json.Marshal(conf)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, kind))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID="+id, "CNI_NETNS="+path, "CNI_IFNAME=eth0", "CNI_PATH="+p.dir)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", kind, command, err, out)
	}
	return out, nil
}
