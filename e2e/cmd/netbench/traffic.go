package main

import (
	"context"
	"net"
	"runtime"

	"github.com/vishvananda/netns"

	"github.com/cluster-network-operator/cno/internal/perf"
)

// newNamed creates a named network namespace, as `ip netns add` does, and returns its path.
func newNamed(name string) (string, error) {
	runtime.LockOSThread()
	// The thread stays in the new namespace; it is locked, so it ends with the goroutine.
	origin, err := netns.Get()
	if err != nil {
		return "", err
	}
	defer func() { _ = origin.Close() }()
	h, err := netns.NewNamed(name)
	if err != nil {
		return "", err
	}
	_ = h.Close()
	return nsPath(name), netns.Set(origin)
}

func removeNamed(name string) error { return netns.DeleteNamed(name) }

// serve serves measuring clients until the context is done.
func serve(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return perf.Serve(ctx, l)
}
