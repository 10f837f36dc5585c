package northbound

import (
	"net/netip"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
)

// requestedKey is the option with the tunnel key of a switch or port. Packets between nodes name their destination by both. ovn-northd assigns other keys each
// time it fills an empty database, and nodes do not learn of them at the same moment: packets would be lost meanwhile, or reach another pod. So keys follow from
// addresses, and are the same in the databases of all masters. ovn-northd assigns a key itself if two rows request the same one.
const requestedKey = "requested-tnl-key"

// requestSwitchKey adds the tunnel key of a switch, of 24 bits, to its options. It is the first block, of which no other node has a part. Of an IPv4 block it has
// the first 24 bits, or those before the bits of pods if the block is smaller. Of an IPv6 block it has the last 23 bits of the prefix, after a 1: keys that
// ovn-northd assigns itself start at 1, and it replaces one that is requested later.
func requestSwitchKey(options ovsdb.Map, blocks []netip.Prefix) {
	block := blocks[0]
	if end := max(24, block.Bits()); block.Addr().Is4() {
		request(options, bitsBefore(block.Addr(), end, 24))
	} else {
		request(options, 1<<23|bitsBefore(block.Addr(), end, 23))
	}
}

// requestPortKey adds the tunnel key of a port, of 15 bits, to its options: the last bits of its first address. They are unique in IPv4 blocks with a prefix of 17
// bits or more, and in IPv6 blocks while a node's pods have fewer addresses: the master assigns them in ascending order.
func requestPortKey(options ovsdb.Map, addresses ...netip.Addr) {
	a := addresses[0]
	request(options, bitsBefore(a, a.BitLen(), 15))
}

// bitsBefore returns the n bits of an address before bit number end.
func bitsBefore(a netip.Addr, end, n int) uint32 {
	bytes := a.AsSlice()
	var out uint32
	for i := end - n; i < end; i++ {
		out = out<<1 | uint32(bytes[i/8]>>(7-i%8)&1)
	}
	return out
}

// request adds a key. 0 is none.
func request(options ovsdb.Map, key uint32) {
	if key != 0 {
		options[requestedKey] = strconv.FormatUint(uint64(key), 10)
	}
}
