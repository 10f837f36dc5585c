package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/containernetworking/plugins/pkg/testutils"
	"golang.org/x/sync/errgroup"
)

// plugin invokes the node's CNI configuration as a container runtime does.
type plugin struct {
	cni  *libcni.CNIConfig
	list *libcni.NetworkConfigList
	pods *pods
	// floor invokes the plugins of flannel without libcni.
	floor *direct
}

// newPlugin reads the node's configuration. The plugins of the floor are in the directory chain.
func newPlugin(p *pods, chain string) (*plugin, error) {
	list, err := nodeConfig()
	if err != nil {
		return nil, err
	}
	return &plugin{cni: libcni.NewCNIConfig([]string{pluginDir}, nil), list: list, pods: p, floor: newDirect(chain)}, nil
}

// nodeConfig reads the configuration that a container runtime uses: the first one by name.
func nodeConfig() (*libcni.NetworkConfigList, error) {
	files, err := libcni.ConfFiles("/etc/cni/net.d", []string{".conflist"})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the node has no CNI configuration")
	}
	return libcni.ConfListFromFile(slices.Min(files))
}

func nsPath(name string) string { return filepath.Join("/run/netns", name) }

// latency is a distribution in milliseconds.
type latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

func distribution(d []time.Duration) latency {
	slices.Sort(d)
	at := func(q float64) float64 {
		return float64(d[min(len(d)-1, int(q*float64(len(d))))].Microseconds()) / 1000
	}
	return latency{P50: at(0.50), P99: at(0.99)}
}

type cniResult struct {
	Add latency `json:"add"`
	Del latency `json:"del"`
	// FloorAdd and FloorDel are those of direct invocations of the plugins of flannel in the same run.
	FloorAdd latency `json:"floorAdd"`
	FloorDel latency `json:"floorDel"`
}

// measure adds and deletes the networks of all pods, parallel at a time, first with libcni and then with direct invocations.
func (p *plugin) measure(ctx context.Context, parallel int) (r cniResult, err error) {
	spaces, remove, err := newSpaces(len(p.pods.Pods))
	if err != nil {
		return cniResult{}, err
	}
	defer remove()
	attach := func(ctx context.Context, i int, path string) error {
		_, err := p.cni.AddNetworkList(ctx, p.list, p.pods.runtimeConf(i, path))
		return err
	}
	detach := func(ctx context.Context, i int, path string) error {
		return p.cni.DelNetworkList(ctx, p.list, p.pods.runtimeConf(i, path))
	}
	r.Add, r.Del, err = addAndDelete(ctx, spaces, parallel, attach, detach)
	if err != nil {
		return r, err
	}
	r.FloorAdd, r.FloorDel, err = addAndDelete(ctx, spaces, parallel, p.floor.attach, p.floor.detach)
	return r, errors.Join(err, p.floor.remove())
}

// newSpaces creates network namespaces, which remove deletes.
func newSpaces(count int) (spaces []ns.NetNS, remove func(), err error) {
	remove = func() {
		for _, n := range spaces {
			_ = testutils.UnmountNS(n)
		}
	}
	for range count {
		n, err := testutils.NewNS()
		if err != nil {
			remove()
			return nil, nil, err
		}
		spaces = append(spaces, n)
	}
	return spaces, remove, nil
}

// operation adds or deletes the network of the pod with a number.
type operation func(ctx context.Context, i int, path string) error

// addAndDelete adds a network to each namespace, parallel at a time, and then deletes all of them, also those whose ADD failed.
func addAndDelete(ctx context.Context, spaces []ns.NetNS, parallel int, attach, detach operation) (add, del latency, err error) {
	added, addErr := timed(ctx, spaces, parallel, attach)
	deleted, delErr := timed(ctx, spaces, parallel, detach)
	return distribution(added), distribution(deleted), errors.Join(addErr, delErr)
}

// timed calls an operation for each namespace, parallel at a time, and returns how long each call took.
func timed(ctx context.Context, spaces []ns.NetNS, parallel int, f operation) ([]time.Duration, error) {
	took := make([]time.Duration, len(spaces))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, n := range spaces {
		g.Go(func() error {
			start := time.Now()
			err := f(ctx, i, n.Path())
			took[i] = time.Since(start)
			return err
		})
	}
	return took, g.Wait()
}
