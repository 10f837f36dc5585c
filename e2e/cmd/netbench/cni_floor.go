package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
)

// pluginDir is the directory of the CNI plugins of a node.
const pluginDir = "/opt/cni/bin"

// direct invokes the plugins of the node's configuration directly, one after the other, each with its configuration on standard
// input, without libcni, cache or validation. Its duration is the minimum that an ADD can take with these plugins.
type direct struct {
	version, name string
	plugins       []map[string]any
	// further are the plugins of further networks, one each, for the interfaces net1, net2, and so on.
	further []map[string]any
	// write, if not nil, sends the API request by which an ADD with further networks stores its result in the pod.
	write func(ctx context.Context, id string) error
}

// newDirect parses the node's configuration, or that of the cluster network in it where pods can have further networks.
func newDirect(list []byte) (*direct, error) {
	if own, wrapped := delegate.Own(list); wrapped {
		list = own
	}
	var read struct {
		CNIVersion string           `json:"cniVersion"`
		Name       string           `json:"name"`
		Plugins    []map[string]any `json:"plugins"`
	}
	if err := json.Unmarshal(list, &read); err != nil {
		return nil, fmt.Errorf("decode CNI configuration: %w", err)
	}
	return &direct{version: read.CNIVersion, name: read.Name, plugins: read.Plugins}, nil
}

// attach invokes ADD of each plugin with the result of the previous one.
func (p *direct) attach(ctx context.Context, id, path string) error {
	var result json.RawMessage
	for _, plugin := range p.plugins {
		out, err := p.call(ctx, "ADD", id, path, "eth0", plugin, result)
		if err != nil {
			return err
		}
		result = out
	}
	for i, plugin := range p.further {
		if _, err := p.call(ctx, "ADD", id, path, fmt.Sprintf("net%d", i+1), plugin, nil); err != nil {
			return err
		}
	}
	if p.write == nil {
		return nil
	}
	return p.write(ctx, id)
}

// detach invokes DEL of each plugin in reverse order.
func (p *direct) detach(ctx context.Context, id, path string) error {
	for i, plugin := range slices.Backward(p.further) {
		if _, err := p.call(ctx, "DEL", id, path, fmt.Sprintf("net%d", i+1), plugin, nil); err != nil {
			return err
		}
	}
	for _, plugin := range slices.Backward(p.plugins) {
		if _, err := p.call(ctx, "DEL", id, path, "eth0", plugin, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *direct) call(ctx context.Context, command, id, path, device string, plugin map[string]any, previous json.RawMessage) ([]byte, error) {
	kind, _ := plugin["type"].(string)
	conf := map[string]any{"cniVersion": p.version, "name": p.name}
	for key, value := range plugin {
		if key != "capabilities" {
			conf[key] = value
		}
	}
	if previous != nil {
		conf["prevResult"] = previous
	}
	input, err := json.Marshal(conf)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(pluginDir, kind))
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command, "CNI_CONTAINERID="+id, "CNI_NETNS="+path, "CNI_IFNAME="+device, "CNI_PATH="+pluginDir)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", kind, command, err, out)
	}
	return out, nil
}
