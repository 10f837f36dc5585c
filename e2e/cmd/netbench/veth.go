package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// bare is a pair of network namespaces connected by veth devices only: the maximum performance that the kernel provides between two
// pods of one machine.
type bare struct {
	names     [2]string
	addresses [2]string
}

func newBare() bare {
	return bare{names: [2]string{"netbench-bare-0", "netbench-bare-1"}, addresses: [2]string{"192.0.2.1", "192.0.2.2"}}
}

// create creates the namespaces and the devices.
func (b bare) create(mtu int) error {
	var handles [2]netns.NsHandle
	for i, name := range b.names {
		if _, err := newNamed(name); err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
		h, err := netns.GetFromName(name)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close() }()
		handles[i] = h
	}
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "bare", MTU: mtu, Namespace: netlink.NsFd(handles[0])},
		PeerName: "bare", PeerNamespace: netlink.NsFd(handles[1])}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("create veth pair: %w", err)
	}
	for i, h := range handles {
		if err := configure(h, b.addresses[i]); err != nil {
			return err
		}
	}
	return nil
}

// configure sets the address of one end, and sets its device up.
func configure(h netns.NsHandle, address string) error {
	n, err := netlink.NewHandleAt(h)
	if err != nil {
		return err
	}
	defer n.Close()
	link, err := n.LinkByName("bare")
	if err != nil {
		return err
	}
	ip := &net.IPNet{IP: net.ParseIP(address), Mask: net.CIDRMask(30, 32)}
	return errors.Join(n.AddrAdd(link, &netlink.Addr{IPNet: ip}), n.LinkSetUp(link))
}

// remove deletes the namespaces, which deletes the devices too.
func (b bare) remove() error {
	return errors.Join(removeNamed(b.names[0]), removeNamed(b.names[1]))
}

// measure runs a server process in one namespace and a client process in the other, each on its CPU. It returns the output of the
// client.
func (b bare) measure(ctx context.Context, serverCPU, clientCPU int, each time.Duration) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	address := net.JoinHostPort(b.addresses[0], "15000")
	server := exec.CommandContext(ctx, "/proc/self/exe", "serve", address, "--in="+b.addresses[0], fmt.Sprintf("--cpu=%d", serverCPU))
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		cancel()
		return nil, err
	}
	defer func() { cancel(); _ = server.Wait() }()
	var out []byte
	var err error
	// Retry until the server listens.
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		client := exec.CommandContext(ctx, "/proc/self/exe", "client", address, "--in="+b.addresses[1], fmt.Sprintf("--cpu=%d", clientCPU), fmt.Sprintf("--for=%s", each))
		if out, err = client.Output(); err == nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("measure between two namespaces: %w", err)
}
