// Package declared finds the addresses that a cluster was created with in the configuration of its control plane. Others write that
// configuration: every function returns an error for text that it cannot use, which names its source. It does no I/O.
package declared

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Block prefix lengths of kube-controller-manager without flags.
const (
	defaultBlock4 = 24
	defaultBlock6 = 64
)

// mostBytes is the maximum length of a source. The configuration of kubeadm has a few kilobytes.
const mostBytes = 256 << 10

// Pool is a network, without host bits, and the prefix length of the block of it that each node has; 0 for a network of Services.
type Pool struct {
	CIDR       netip.Prefix
	HostPrefix uint32
}

// Value is what a source declares. The zero value means that it declares nothing.
type Value struct {
	// Pools has one network, or one of each IP family.
	Pools []Pool
	// Source names the object and the field.
	Source string
	// Err is the reason why the source cannot be used; it names the source. There are no Pools then.
	Err error
}

// Declares reports whether there is a value, usable or not.
func (v Value) Declares() bool { return len(v.Pools) > 0 || v.Err != nil }

// services parses a list of networks of Services.
func services(source, list string) Value {
	return value(source, list, func(netip.Prefix) (uint32, error) { return 0, nil })
}

// value parses a list of networks, of which block returns the prefix length of blocks. It returns the zero value for an empty list.
func value(source, list string, block func(netip.Prefix) (uint32, error)) Value {
	if strings.TrimSpace(list) == "" {
		return Value{}
	}
	v := Value{Source: source}
	for text := range strings.SplitSeq(list, ",") {
		cidr, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return Unreadable(source, fmt.Errorf("%s is not a CIDR", quote(strings.TrimSpace(text))))
		}
		pool := Pool{CIDR: cidr.Masked()}
		if pool.HostPrefix, err = block(pool.CIDR); err != nil {
			return Unreadable(source, err)
		}
		v.Pools = append(v.Pools, pool)
		if n := len(v.Pools); n > 2 || n == 2 && v.Pools[0].CIDR.Addr().Is4() == pool.CIDR.Addr().Is4() {
			return Unreadable(source, fmt.Errorf("%s has more than one network of an IP family", quote(list)))
		}
	}
	return v
}

// Unreadable returns the value of a source that could not be read.
func Unreadable(source string, err error) Value {
	return Value{Source: source, Err: fmt.Errorf("%s: %w", source, err)}
}

// quote quotes text, which may be long.
func quote(text string) string {
	const most = 80
	if len(text) > most {
		return strconv.Quote(strings.ToValidUTF8(text[:most], "")) + "..."
	}
	return strconv.Quote(text)
}

// The flags of kube-controller-manager for the length of blocks. The first is for a cluster with one IP family.
const (
	flagBlock  = "node-cidr-mask-size"
	flagBlock4 = flagBlock + "-ipv4"
	flagBlock6 = flagBlock + "-ipv6"
)

// flags are the values of the flags of kube-controller-manager by their name without dashes.
type flags map[string]string

// block returns the prefix length of the blocks of a network.
func (f flags) block(cidr netip.Prefix) (uint32, error) {
	family, length := flagBlock4, uint32(defaultBlock4)
	if cidr.Addr().Is6() {
		family, length = flagBlock6, defaultBlock6
	}
	for _, flag := range []string{family, flagBlock} {
		text, ok := f[flag]
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n == 0 || n > uint64(cidr.Addr().BitLen()) {
			return 0, fmt.Errorf("--%s %s is not the prefix length of a block of %s", flag, quote(text), cidr)
		}
		return uint32(n), nil
	}
	return length, nil
}

// errTooLong is the error of a source that no control plane has.
var errTooLong = errors.New("is longer than 256 KiB")
