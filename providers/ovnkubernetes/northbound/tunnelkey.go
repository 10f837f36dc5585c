package northbound

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// requestedKey is the option with the tunnel key of a switch or port. Packets between nodes name their destination by both. ovn-northd assigns other keys each
// time it fills an empty database, and nodes do not learn of them at the same moment: packets would be lost meanwhile, or reach another pod. So keys follow from
// addresses, and are the same in the databases of all masters. ovn-northd assigns a key itself if two rows request the same one.
const requestedKey = "requested-tnl-key"

// requestSwitchKey adds the tunnel key of a switch, of 24 bits, to its options. It is the IPv4 block, of which no other node has a part: its first 24 bits, or those
// before the bits of pods if the block is smaller.
func requestSwitchKey(options ovsdb.Map, blocks []netip.Prefix) {
	for _, b := range blocks {
		if b.Addr().Is4() {
			request(options, bitsOf(b.Addr())>>(32-max(24, b.Bits()))&(1<<24-1))
			return
		}
	}
}

// requestPortKey adds the tunnel key of a port, of 15 bits, to its options: the last bits of its IPv4 address, which are unique in blocks with a prefix of 17 bits or
// more.
func requestPortKey(options ovsdb.Map, addresses ...netip.Addr) {
	for _, a := range addresses {
		if a.Is4() {
			request(options, bitsOf(a)&(1<<15-1))
			return
		}
	}
}

func bitsOf(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// request adds a key. 0 is none.
func request(options ovsdb.Map, key uint32) {
	if key != 0 {
		options[requestedKey] = strconv.FormatUint(uint64(key), 10)
	}
}
