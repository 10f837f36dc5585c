package ovs_test

import (
	"io"
	"net"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// receive accepts one connection and counts what arrives.
func receive(at netns.Namespace, address string, listening chan<- error, got chan<- int64) {
	var listener net.Listener
	err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	})
	listening <- err
	if err != nil {
		return
	}
	defer listener.Close()
	conn, err := listener.Accept()
	if err != nil {
		got <- -1
		return
	}
	defer conn.Close()
	n, _ := io.Copy(io.Discard, conn)
	got <- n
}

func send(from netns.Namespace, address string, size int) error {
	return ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		conn, err := net.DialTimeout("tcp", address, time.Minute)
		if err != nil {
			return err
		}
		if _, err := conn.Write(make([]byte, size)); err != nil {
			_ = conn.Close()
			return err
		}
		return conn.Close()
	})
}
