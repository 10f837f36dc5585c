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

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// ESP is an ESP implementation: the kernel's or charon's.
type ESP interface {
	// Name is "kernel" or "userspace".
	Name() string
	// Overhead is the maximum overhead in bytes.
	Overhead() int
	// MaxPacket is the maximum size in bytes of a packet between nodes before it is encrypted; 0 means that only the links limit it.
	MaxPacket() int
	// Transport is true in transport mode.
	Transport() bool
	// plugins are the additional charon plugins.
	plugins() []string
	// started is called with charon's process ID.
	started(pid int)
	// conditions returns nftables clauses that match unencrypted packets.
	conditions() conditions
	// direct routes packets to the given peers through encryption, and all others not. It is called after charon has started, and when peers have changed.
	direct(ctx context.Context, to []netip.Addr) error
	// remove removes the remains of direct. Charon may have ended.
	remove() error
}

// conditions are nftables clauses.
type conditions struct {
	// arrivesClear matches a packet that arrived unencrypted. leavesClear matches one that will leave unencrypted.
	arrivesClear, leavesClear string
}

// NewESP returns the kernel's ESP if the kernel supports it and Open vSwitch uses the kernel datapath, otherwise charon's: packets of the userspace datapath
// get the node's address after the kernel's IPsec lookup. address is that of the node, port that of Geneve, and procSys the directory of kernel parameters.
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

// kernelESP reports whether the kernel supports ESP: it adds and removes a state between two loopback addresses.
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
			return true, fmt.Errorf("remove the state that was added to detect ESP support: %w", err)
		}
		return true, nil
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EAFNOSUPPORT):
		return false, nil
	}
	return false, fmt.Errorf("detect ESP support of the kernel: %w", err)
}

// kernel is the kernel's ESP. Charon installs states and policies, which match the port: no routes are needed.
type kernel struct{}

func (kernel) Name() string                               { return "kernel" }
func (kernel) Overhead() int                              { return agentconfig.KernelESPOverhead }
func (kernel) MaxPacket() int                             { return 0 }
func (kernel) Transport() bool                            { return true }
func (kernel) plugins() []string                          { return nil }
func (kernel) direct(context.Context, []netip.Addr) error { return nil }
func (kernel) remove() error                              { return nil }
func (kernel) started(int)                                {}

func (kernel) conditions() conditions {
	return conditions{arrivesClear: "meta secpath missing", leavesClear: "rt ipsec missing"}
}
