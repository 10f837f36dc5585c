package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/containernetworking/plugins/pkg/testutils"
	"golang.org/x/sync/errgroup"
)

// plugin invokes the node's CNI configuration as a container runtime does.
type plugin struct {
	cni  *libcni.CNIConfig
	list *libcni.NetworkConfigList
	// floor invokes the same plugins without libcni.
	floor *direct
	// further, if not nil, has pods that request further networks.
	further *further
}

func newPlugin() (*plugin, error) {
	files, err := libcni.ConfFiles("/etc/cni/net.d", []string{".conflist"})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("the node has no CNI configuration")
	}
	slices.Sort(files)
	list, err := libcni.ConfListFromFile(files[0])
	if err != nil {
		return nil, err
	}
	floor, err := newDirect(list.Bytes)
	if err != nil {
		return nil, err
	}
	return &plugin{cni: libcni.NewCNIConfig([]string{pluginDir}, nil), list: list, floor: floor}, nil
}

func nsPath(name string) string { return filepath.Join("/run/netns", name) }

// runtimeConf returns the parameters that a runtime passes for a sandbox, including its pod if there is one.
func (p *plugin) runtimeConf(name, path string) *libcni.RuntimeConf {
	conf := &libcni.RuntimeConf{ContainerID: name, NetNS: path, IfName: "eth0"}
	if p.further != nil {
		p.further.setPod(conf)
	}
	return conf
}

// add creates a named network namespace, attaches it to the pod network, and returns its address.
func (p *plugin) add(ctx context.Context, name string) (string, error) {
	n, err := newNamed(name)
	if err != nil {
		return "", err
	}
	return p.attach(ctx, name, n)
}

func (p *plugin) attach(ctx context.Context, name, path string) (string, error) {
	result, err := p.cni.AddNetworkList(ctx, p.list, p.runtimeConf(name, path))
	if err != nil {
		return "", err
	}
	r, err := types100.NewResultFromResult(result)
	if err != nil {
		return "", err
	}
	if len(r.IPs) == 0 {
		return "", errors.New("the CNI result has no address")
	}
	return r.IPs[0].Address.IP.String(), nil
}

func (p *plugin) remove(ctx context.Context, name string) error {
	err := p.cni.DelNetworkList(ctx, p.list, p.runtimeConf(name, nsPath(name)))
	return errors.Join(err, removeNamed(name))
}

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
	// FloorAdd and FloorDel are those of direct invocations of the same plugins in the same run.
	FloorAdd latency `json:"floorAdd"`
	FloorDel latency `json:"floorDel"`
}

// measure adds and deletes count pod networks, parallel at a time, first with libcni and then with direct invocations.
func (p *plugin) measure(ctx context.Context, count, parallel int) (cniResult, error) {
	spaces := make([]ns.NetNS, count)
	for i := range spaces {
		n, err := testutils.NewNS()
		if err != nil {
			return cniResult{}, err
		}
		spaces[i] = n
		defer func() { _ = testutils.UnmountNS(n) }()
	}
	attach := func(ctx context.Context, name, path string) error {
		_, err := p.attach(ctx, name, path)
		return err
	}
	detach := func(ctx context.Context, name, path string) error {
		return p.cni.DelNetworkList(ctx, p.list, p.runtimeConf(name, path))
	}
	var r cniResult
	var err, floorErr error
	r.Add, r.Del, err = addAndDelete(ctx, spaces, parallel, attach, detach)
	r.FloorAdd, r.FloorDel, floorErr = addAndDelete(ctx, spaces, parallel, p.floor.attach, p.floor.detach)
	return r, errors.Join(err, floorErr)
}

// operation adds or deletes the network of one pod.
type operation func(ctx context.Context, name, path string) error

// addAndDelete adds a network to each namespace, parallel at a time, and then deletes all of them, also those whose ADD failed.
func addAndDelete(ctx context.Context, spaces []ns.NetNS, parallel int, attach, detach operation) (add, del latency, err error) {
	timed := func(f operation) (latency, error) {
		took := make([]time.Duration, len(spaces))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(parallel)
		for i, n := range spaces {
			g.Go(func() error {
				start := time.Now()
				err := f(ctx, sandbox(i), n.Path())
				took[i] = time.Since(start)
				return err
			})
		}
		err := g.Wait()
		return distribution(took), err
	}
	add, err = timed(attach)
	del, delErr := timed(detach)
	return add, del, errors.Join(err, delErr)
}
