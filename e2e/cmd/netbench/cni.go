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

// plugin is the node's CNI configuration, called the way a container runtime calls it.
type plugin struct {
	cni  *libcni.CNIConfig
	list *libcni.NetworkConfigList
	// floor calls the same plugins without the library.
	floor *byHand
	// further, if not nil, are pods that ask for further networks.
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
	floor, err := newByHand(list.Bytes)
	if err != nil {
		return nil, err
	}
	return &plugin{cni: libcni.NewCNIConfig([]string{pluginDir}, nil), list: list, floor: floor}, nil
}

func nsPath(name string) string { return filepath.Join("/run/netns", name) }

// runtimeConf is what a runtime passes for a sandbox, of a pod if there are some.
func (p *plugin) runtimeConf(name, path string) *libcni.RuntimeConf {
	conf := &libcni.RuntimeConf{ContainerID: name, NetNS: path, IfName: "eth0"}
	if p.further != nil {
		p.further.ask(conf)
	}
	return conf
}

// add makes a named namespace, gives it a network, and returns its address.
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
		return "", errors.New("the plugin gave no address")
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
	// FloorAdd and FloorDel are of the same plugins, called by hand in the same run.
	FloorAdd latency `json:"floorAdd"`
	FloorDel latency `json:"floorDel"`
}

// measure adds count pod networks, parallel at once, then deletes them likewise; and the same again by hand.
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

// call adds or deletes the network of one pod.
type call func(ctx context.Context, name, path string) error

// addAndDelete adds a network to each namespace, parallel at once, and deletes all of them again, also those of which the
// addition failed.
func addAndDelete(ctx context.Context, spaces []ns.NetNS, parallel int, attach, detach call) (add, del latency, err error) {
	timed := func(f call) (latency, error) {
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
