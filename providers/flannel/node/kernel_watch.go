package node

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// watchKernel calls changed whenever the kernel reports a change of a route into the network, or of one of the
// given interfaces or its addresses, until the context ends. It may call it without need, never too seldom:
// also when reports were lost.
func watchKernel(ctx context.Context, network agentconfig.Network, indexes []int, changed func()) error {
	socket, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE,
		unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
	if err != nil {
		return fmt.Errorf("subscribe to the kernel's routes: %w", err)
	}
	stop := context.AfterFunc(ctx, socket.Close)
	defer func() {
		if stop() {
			socket.Close()
		}
	}()
	for {
		messages, _, err := socket.Receive()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			// ENOBUFS: more changes than the socket holds.
			changed()
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		for _, m := range messages {
			if concerns(m.Header.Type, m.Data, network, indexes) {
				changed()
				break
			}
		}
	}
}

// concerns reports whether a message of the kernel is about a route into the network, or one of the interfaces.
func concerns(kind uint16, data []byte, network agentconfig.Network, indexes []int) bool {
	switch kind {
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		if len(data) < unix.SizeofRtMsg {
			return true
		}
		attrs, err := nl.ParseRouteAttr(data[unix.SizeofRtMsg:])
		if err != nil {
			return true
		}
		bits := int(nl.DeserializeRtMsg(data).Dst_len)
		for _, a := range attrs {
			if addr, ok := netip.AddrFromSlice(a.Value); ok && a.Attr.Type == unix.RTA_DST {
				return inNetwork(network, netip.PrefixFrom(addr, bits))
			}
		}
		return true // the default route: the node's interface may be another now
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return len(data) < unix.SizeofIfInfomsg || slices.Contains(indexes, int(nl.DeserializeIfInfomsg(data).Index))
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return len(data) < unix.SizeofIfAddrmsg || slices.Contains(indexes, int(nl.DeserializeIfAddrmsg(data).Index))
	}
	return false
}
