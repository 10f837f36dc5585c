// Package nflog reads the packets that nftables rules log to a group, in the network namespace of the process.
package nflog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Constants of linux/netfilter/nfnetlink_log.h. Numbers are in network byte order.
const (
	subsystem     = 4 // NFNL_SUBSYS_ULOG
	messagePacket = subsystem << 8
	messageConfig = subsystem<<8 | 1
	configCommand = 1 // NFULA_CFG_CMD
	configMode    = 2 // NFULA_CFG_MODE
	configBatch   = 5 // NFULA_CFG_QTHRESH
	commandBind   = 1
	copyPacket    = 2
	payload       = 9 // NFULA_PAYLOAD
	// headers is the number of bytes of a packet that are copied: the longest IPv4 header, and the ports.
	headers = 64
	// genericHeader is the length of struct nfgenmsg: family, version, and the group.
	genericHeader = 4
)

// Packet has header fields of an IPv4 packet.
type Packet struct {
	Source, Destination netip.Addr
	// Protocol is the number of the protocol above IP, DestinationPort its port; 0 for one that has no ports.
	Protocol        uint8
	DestinationPort uint16
}

// Listen calls packet for each IPv4 packet that is logged to the group, and returns nil when the context ends. Packets are lost if too many wait. Only one
// process can listen to a group.
func Listen(ctx context.Context, group uint16, packet func(Packet)) error {
	conn, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return fmt.Errorf("listen to log group %d: %w", group, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for _, attribute := range []netlink.Attribute{
		{Type: configCommand, Data: []byte{commandBind}},
		{Type: configMode, Data: []byte{0, 0, 0, headers, copyPacket, 0}},
		{Type: configBatch, Data: []byte{0, 0, 0, 1}}, // each packet at once
	} {
		if err := configure(conn, group, attribute); err != nil {
			return fmt.Errorf("listen to log group %d: %w", group, err)
		}
	}
	for {
		messages, err := conn.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS): // packets were lost
			continue
		case err != nil:
			return fmt.Errorf("read log group %d: %w", group, err)
		}
		for _, m := range messages {
			if p, ok := read(m); ok {
				packet(p)
			}
		}
	}
}

func configure(conn *netlink.Conn, group uint16, attribute netlink.Attribute) error {
	attributes, err := netlink.MarshalAttributes([]netlink.Attribute{attribute})
	if err != nil {
		return err
	}
	_, err = conn.Execute(netlink.Message{
		Header: netlink.Header{Type: messageConfig, Flags: netlink.Request | netlink.Acknowledge},
		Data:   append([]byte{unix.AF_UNSPEC, 0, byte(group >> 8), byte(group)}, attributes...),
	})
	return err
}

// read returns the packet of a message; ok is false if it has none.
func read(m netlink.Message) (p Packet, ok bool) {
	if m.Header.Type != messagePacket || len(m.Data) < genericHeader {
		return Packet{}, false
	}
	attributes, err := netlink.UnmarshalAttributes(m.Data[genericHeader:])
	if err != nil {
		return Packet{}, false
	}
	for _, a := range attributes {
		if a.Type == payload {
			return Parse(a.Data)
		}
	}
	return Packet{}, false
}

// Parse reads the headers of an IPv4 packet; ok is false if data does not begin with them.
func Parse(data []byte) (p Packet, ok bool) {
	const least = 20
	if len(data) < least || data[0]>>4 != 4 {
		return Packet{}, false
	}
	length := int(data[0]&0xf) * 4
	if length < least || len(data) < length {
		return Packet{}, false
	}
	p = Packet{Protocol: data[9], Source: netip.AddrFrom4([4]byte(data[12:16])), Destination: netip.AddrFrom4([4]byte(data[16:20]))}
	switch p.Protocol {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP:
		if len(data) < length+4 {
			return Packet{}, false
		}
		p.DestinationPort = binary.BigEndian.Uint16(data[length+2:])
	}
	return p, true
}
