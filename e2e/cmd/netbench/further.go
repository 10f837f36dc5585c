package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
)

// batch is how many pods are attached and detached in one way before it is another one's turn, at least.
const batch = 10

// way is one way in which the networks of pods are added and deleted, with the times that it took.
type way struct {
	attach, detach operation
	added, deleted []time.Duration
}

// run adds the networks of pods, the first of which has the number first, and deletes them again, also those whose ADD failed.
func (w *way) run(ctx context.Context, spaces []ns.NetNS, first, parallel int) error {
	numbered := func(f operation) operation {
		return func(ctx context.Context, i int, path string) error { return f(ctx, first+i, path) }
	}
	added, addErr := timed(ctx, spaces, parallel, numbered(w.attach))
	deleted, delErr := timed(ctx, spaces, parallel, numbered(w.detach))
	w.added, w.deleted = append(w.added, added...), append(w.deleted, deleted...)
	return errors.Join(addErr, delErr)
}

func (w *way) result() furtherTimes {
	return furtherTimes{Add: distribution(w.added), Del: distribution(w.deleted)}
}

type furtherTimes struct {
	Add latency `json:"add"`
	Del latency `json:"del"`
}

type furtherResult struct {
	// Served is by the node's configuration, as a container runtime does it.
	Served furtherTimes `json:"served"`
	// Plain is the default network alone, by libcni, without the shim.
	Plain furtherTimes `json:"plain"`
	// Floor is the default network and then each further one, by libcni, and one write to the API.
	Floor furtherTimes `json:"floor"`
}

// further measures pods with further networks.
type further struct {
	pods *pods
	cni  *libcni.CNIConfig
	// node is the configuration of the node, own that of the default network in it.
	node, own *libcni.NetworkConfigList
	others    []*libcni.NetworkConfigList
	write     func(ctx context.Context, i int) error
}

func newFurther(p *pods) (*further, error) {
	f := &further{pods: p, cni: libcni.NewCNIConfig([]string{pluginDir}, nil)}
	var err error
	if f.node, err = nodeConfig(); err != nil {
		return nil, err
	}
	var shim delegate.Conf
	if err := json.Unmarshal(f.node.Plugins[0].Bytes, &shim); err != nil {
		return nil, err
	}
	if len(shim.Delegate) == 0 {
		return nil, fmt.Errorf("the configuration of the node starts %s, not the shim for further networks", f.node.Plugins[0].Network.Type)
	}
	if f.own, err = libcni.NetworkConfFromBytes(shim.Delegate); err != nil {
		return nil, err
	}
	for _, raw := range p.Lists {
		list, err := libcni.NetworkConfFromBytes(raw)
		if err != nil {
			return nil, err
		}
		f.others = append(f.others, list)
	}
	f.write, err = p.writer()
	return f, err
}

// measure adds and deletes the networks of all pods in each way, in turns, so that what else the machine does affects all ways alike.
func (f *further) measure(ctx context.Context, parallel int) (furtherResult, error) {
	spaces, remove, err := newSpaces(len(f.pods.Pods))
	if err != nil {
		return furtherResult{}, err
	}
	defer remove()
	served, plain, floor := f.listed(f.node), f.listed(f.own), &way{attach: f.attachByHand, detach: f.detachByHand}
	first := 0
	for some := range slices.Chunk(spaces, max(parallel, batch)) {
		for _, w := range []*way{served, plain, floor} {
			if err := w.run(ctx, some, first, parallel); err != nil {
				return furtherResult{}, err
			}
		}
		first += len(some)
	}
	return furtherResult{Served: served.result(), Plain: plain.result(), Floor: floor.result()}, nil
}

// listed is the way of a configuration list that a container runtime invokes.
func (f *further) listed(list *libcni.NetworkConfigList) *way {
	return &way{
		attach: func(ctx context.Context, i int, path string) error {
			_, err := f.cni.AddNetworkList(ctx, list, f.pods.runtimeConf(i, path))
			return err
		},
		detach: func(ctx context.Context, i int, path string) error {
			return f.cni.DelNetworkList(ctx, list, f.pods.runtimeConf(i, path))
		},
	}
}

func (f *further) attachByHand(ctx context.Context, i int, path string) error {
	if _, err := f.cni.AddNetworkList(ctx, f.own, f.pods.runtimeConf(i, path)); err != nil {
		return err
	}
	for n, list := range f.others {
		if _, err := f.cni.AddNetworkList(ctx, list, f.runtimeConf(i, n, path)); err != nil {
			return err
		}
	}
	if len(f.others) == 0 {
		return nil
	}
	return f.write(ctx, i)
}

func (f *further) detachByHand(ctx context.Context, i int, path string) error {
	for n, list := range slices.Backward(f.others) {
		if err := f.cni.DelNetworkList(ctx, list, f.runtimeConf(i, n, path)); err != nil {
			return err
		}
	}
	return f.cni.DelNetworkList(ctx, f.own, f.pods.runtimeConf(i, path))
}

// runtimeConf returns the parameters of a further network of a pod.
func (f *further) runtimeConf(i, network int, path string) *libcni.RuntimeConf {
	conf := f.pods.runtimeConf(i, path)
	conf.IfName, conf.CapabilityArgs = fmt.Sprintf("net%d", network+1), f.pods.Pods[i].Runtime[network]
	return conf
}
