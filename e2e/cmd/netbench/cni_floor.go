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
	pods *pods
	// dir is the directory of the plugins; those of further networks are in pluginDir.
	dir     string
	plugins []map[string]any
	// write, if not nil, sends the API request by which an ADD with further networks stores its result in the pod.
	write func(ctx context.Context, id string) error
}

// newDirect returns the floor for pods, with the plugins in a directory.
func newDirect(p *pods, dir string) (*direct, error) {
	write, err := p.writer()
	if err != nil {
		return nil, err
	}
	return &direct{pods: p, dir: dir, write: write, plugins: []map[string]any{
		{
			"type": "bridge", "bridge": floorBridge, "isGateway": true, "isDefaultGateway": true, "forceAddress": true, "hairpinMode": true, "mtu": 1500,
			// The addresses are those that are reserved for benchmarks.
			"ipam": map[string]any{"type": "host-local", "ranges": [][]map[string]string{{{"subnet": "198.18.0.0/16"}}}},
		},
		{"type": "portmap"},
	}}, nil
}

// attach invokes ADD of each plugin with the result of the previous one, and then of each further network, on the interfaces net1, net2, and so on.
func (p *direct) attach(ctx context.Context, i int, path string) error {
	var result json.RawMessage
	for _, plugin := range p.plugins {
		out, err := p.call(ctx, p.dir, "ADD", sandbox(i), path, "eth0", plugin, result)
		if err != nil {
			return err
		}
		result = out
	}
	for n, plugin := range p.pods.Plugins {
		if _, err := p.call(ctx, pluginDir, "ADD", sandbox(i), path, fmt.Sprintf("net%d", n+1), plugin, nil); err != nil {
			return err
		}
	}
	if p.write == nil {
		return nil
	}
	return p.write(ctx, sandbox(i))
}

// detach invokes DEL of each plugin in reverse order.
func (p *direct) detach(ctx context.Context, i int, path string) error {
	for n, plugin := range slices.Backward(p.pods.Plugins) {
		if _, err := p.call(ctx, pluginDir, "DEL", sandbox(i), path, fmt.Sprintf("net%d", n+1), plugin, nil); err != nil {
			return err
		}
	}
	for _, plugin := range slices.Backward(p.plugins) {
		if _, err := p.call(ctx, p.dir, "DEL", sandbox(i), path, "eth0", plugin, nil); err != nil {
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

func (p *direct) call(ctx context.Context, dir, command, id, path, device string, plugin map[string]any, previous json.RawMessage) ([]byte, error) {
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
	cmd := exec.CommandContext(ctx, filepath.Join(dir, kind))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID="+id, "CNI_NETNS="+path, "CNI_IFNAME="+device, "CNI_PATH="+dir)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", kind, command, err, out)
	}
	return out, nil
}
