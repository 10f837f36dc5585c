package ipsec

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ESP is who encrypts the packets of a node: the kernel, or charon itself.
type ESP interface {
	// Name is "kernel" or "userspace".
	Name() string
	// Overhead is how many bytes encryption adds to a packet over IPv4 at most.
	Overhead() int
	// Transport is true if packets keep their addresses.
	Transport() bool
	// plugins are those of charon that it needs beside the common ones.
	plugins() []string
	// started is called with charon's process.
	started(pid int)
	// conditions are the clauses of nftables that are true for a packet that has been encrypted, where it arrives, and for one that will be, where it leaves.
	conditions() conditions
	// direct has packets to some peers encrypted, and those to all others not. It is called after charon has started, and when peers have changed.
	direct(ctx context.Context, to []netip.Addr) error
	// remove removes what direct has left. Charon need not run.
	remove() error
}

// conditions are clauses of nftables.
type conditions struct {
	// arrivesClear is true for a packet that arrived in the clear, leavesClear for one that will leave so.
	arrivesClear, leavesClear string
}

const (
	// kernelOverhead is that of the kernel's ESP in transport mode with AES-GCM, wrapped in UDP: the figure of OpenShift.
	kernelOverhead = 46
	// userspaceOverhead is that of charon's ESP, in tunnel mode and always wrapped in UDP.
	userspaceOverhead = 73
)

// NewESP returns who encrypts: the kernel if it can and Open vSwitch uses its datapath. Packets of the userspace datapath get the node's address after the
// kernel has decided about encryption. address is the node's, port that of Geneve, and procSys where the kernel's settings are.
func NewESP(address netip.Addr, port uint16, procSys string, kernelDatapath bool) (ESP, error) {
	u := &userspace{address: address, port: port, procSys: procSys}
	if !kernelDatapath {
		return u, nil
	}
	able, err := kernelESP()
	if err != nil {
		return nil, err
	}
	if able {
		return kernel{}, nil
	}
	return u, nil
}

// kernelESP reports whether the kernel encrypts: it adds keys between two addresses of the loopback network, and removes them.
func kernelESP() (bool, error) {
	spi := make([]byte, 4)
	if _, err := rand.Read(spi); err != nil {
		return false, err
	}
	state := &netlink.XfrmState{
		Src: net.IPv4(127, 0, 0, 253), Dst: net.IPv4(127, 0, 0, 254), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TRANSPORT,
		Spi: int(binary.BigEndian.Uint32(spi) | 1<<16), Aead: &netlink.XfrmStateAlgo{Name: "rfc4106(gcm(aes))", Key: make([]byte, 20), ICVLen: 128},
	}
	err := netlink.XfrmStateAdd(state)
	switch {
	case err == nil:
		if err := netlink.XfrmStateDel(state); err != nil {
			return true, fmt.Errorf("remove keys that were added to find out whether the kernel encrypts: %w", err)
		}
		return true, nil
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EAFNOSUPPORT):
		return false, nil
	}
	return false, fmt.Errorf("find out whether the kernel encrypts: %w", err)
}

// kernel is the kernel's ESP. Charon gives it keys and policies, which name the port: nothing needs a route.
type kernel struct{}

func (kernel) Name() string                               { return "kernel" }
func (kernel) Overhead() int                              { return kernelOverhead }
func (kernel) Transport() bool                            { return true }
func (kernel) plugins() []string                          { return nil }
func (kernel) direct(context.Context, []netip.Addr) error { return nil }
func (kernel) remove() error                              { return nil }
func (kernel) started(int)                                {}

func (kernel) conditions() conditions {
	return conditions{arrivesClear: "meta secpath missing", leavesClear: "rt ipsec missing"}
}
