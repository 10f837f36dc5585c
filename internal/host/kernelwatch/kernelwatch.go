// Package kernelwatch watches the kernel's routes, interfaces and addresses.
package kernelwatch

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Filter selects changes. The zero value selects only default routes.
type Filter struct {
	// Links are the indexes of interfaces.
	Links []int
	// Route selects routes by their destination; nil selects none. Default routes are always selected.
	Route func(netip.Prefix) bool
}

// Watch calls changed for each selected change until the context ends. It never misses a change, but may call changed without one, for example when
// messages were lost.
func Watch(ctx context.Context, f Filter, changed func()) error {
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
			if f.concerns(m.Header.Type, m.Data) {
				changed()
				break
			}
		}
	}
}

// concerns reports whether a message of the kernel is selected. Messages that cannot be read are.
func (f Filter) concerns(kind uint16, data []byte) bool {
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
				return f.Route != nil && f.Route(netip.PrefixFrom(addr, bits))
			}
		}
		return true // a default route
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return len(data) < unix.SizeofIfInfomsg || slices.Contains(f.Links, int(nl.DeserializeIfInfomsg(data).Index))
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return len(data) < unix.SizeofIfAddrmsg || slices.Contains(f.Links, int(nl.DeserializeIfAddrmsg(data).Index))
	}
	return false
}
