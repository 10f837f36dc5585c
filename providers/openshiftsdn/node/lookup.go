package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// queryTimeout is the timeout of one name server.
	queryTimeout = 3 * time.Second
	dnsPort      = "53"
	// resolverFile has the node's name servers.
	resolverFile = "/etc/resolv.conf"
)

// queryNode queries the node's name servers, which may change.
func queryNode(ctx context.Context, name string) (answer, error) {
	servers, err := nameServers(resolverFile)
	if err != nil {
		return answer{}, err
	}
	return lookup(ctx, servers, name)
}

// nameServers returns the node's name servers with port.
func nameServers(file string) ([]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("find the name servers of the node: %w", err)
	}
	var out []string
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "nameserver" {
			out = append(out, net.JoinHostPort(fields[1], dnsPort))
		}
	}
	return out, nil
}

// lookup queries name servers in order for the IPv4 addresses of a name, until one responds.
func lookup(ctx context.Context, servers []string, name string) (answer, error) {
	query, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
	if err != nil {
		return answer{}, fmt.Errorf("look up %q: %w", name, err)
	}
	errs := []error{}
	for _, server := range servers {
		got, err := exchange(ctx, server, query)
		if err == nil || errors.Is(err, errNoName) {
			return got, err
		}
		errs = append(errs, fmt.Errorf("ask %s for %s: %w", server, name, err))
	}
	if len(servers) == 0 {
		errs = append(errs, errors.New("the node has no name servers"))
	}
	return answer{}, errors.Join(errs...)
}

// exchange queries a server over UDP, and over TCP if the reply was truncated.
func exchange(ctx context.Context, server string, name dnsmessage.Name) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	id := uint16(rand.Uint32())
	request, err := (&dnsmessage.Message{
		Header:    dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}).Pack()
	if err != nil {
		return answer{}, err
	}
	for _, network := range []string{"udp", "tcp"} {
		var reply dnsmessage.Message
		if reply, err = roundTrip(ctx, network, server, id, request); err != nil {
			return answer{}, err
		}
		if !reply.Truncated || network == "tcp" {
			return read(reply)
		}
	}
	return answer{}, nil
}

// roundTrip returns the reply with the identifier; it ignores others.
func roundTrip(ctx context.Context, network, server string, id uint16, request []byte) (dnsmessage.Message, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, server)
	if err != nil {
		return dnsmessage.Message{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if network == "tcp" {
		request = append(binary.BigEndian.AppendUint16(nil, uint16(len(request))), request...)
	}
	if _, err := conn.Write(request); err != nil {
		return dnsmessage.Message{}, err
	}
	buffer := make([]byte, 65535)
	for {
		n, err := receive(conn, network, buffer)
		if err != nil {
			return dnsmessage.Message{}, errors.Join(ctx.Err(), err)
		}
		var reply dnsmessage.Message
		if reply.Unpack(buffer[:n]) == nil && reply.ID == id && reply.Response {
			return reply, nil
		}
	}
}

func receive(conn net.Conn, network string, buffer []byte) (int, error) {
	if network == "udp" {
		return conn.Read(buffer)
	}
	if _, err := io.ReadFull(conn, buffer[:2]); err != nil {
		return 0, err
	}
	return io.ReadFull(conn, buffer[:binary.BigEndian.Uint16(buffer)])
}

// read returns the addresses in a reply, including those of aliases, and the lowest TTL.
func read(reply dnsmessage.Message) (answer, error) {
	switch reply.RCode {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		return answer{}, errNoName
	default:
		return answer{}, fmt.Errorf("the name server answers %s", strings.TrimPrefix(reply.RCode.String(), "RCode"))
	}
	a := answer{ttl: maxTTL}
	for _, r := range reply.Answers {
		a.ttl = min(a.ttl, time.Duration(r.Header.TTL)*time.Second)
		if record, ok := r.Body.(*dnsmessage.AResource); ok {
			a.addresses = append(a.addresses, netip.AddrFrom4(record.A))
		}
	}
	if len(a.addresses) == 0 {
		return answer{}, errNoName
	}
	return a, nil
}
