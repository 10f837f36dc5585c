package node_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// authority is a CA of the databases, and the certificate that it has issued for servers and clients.
type authority struct {
	ca          *certs.CA
	pair        certs.Pair
	certificate *x509.Certificate
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	ca, err := certs.NewCA("ovn", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(certs.Request{CommonName: "ovn", Usage: certs.Peer, Life: time.Hour}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, _, err := pair.Parse()
	if err != nil {
		t.Fatal(err)
	}
	return authority{ca, pair, certificate}
}

// trust mounts the ConfigMap with the CAs, present the Secret with the certificate.
func (c *cluster) trust(all ...authority) {
	c.t.Helper()
	var bundle certs.Bundle
	for _, a := range all {
		bundle = bundle.With(a.ca.Certificate())
	}
	c.mount("bundle", map[string][]byte{"ca-bundle.crt": bundle.PEM()})
}

func (c *cluster) present(a authority) {
	c.t.Helper()
	c.mount("pair", map[string][]byte{"tls.key": a.pair.Key, "tls.crt": a.pair.Certificate})
}

// mount replaces all files of a volume at once, as the kubelet does.
func (c *cluster) mount(volume string, files map[string][]byte) {
	c.t.Helper()
	content, err := os.MkdirTemp(c.tls, volume+"-")
	if err != nil {
		c.t.Fatal(err)
	}
	for name, data := range files {
		c.write(filepath.Join(content, name), string(data))
	}
	next := content + ".link"
	if err := os.Symlink(content, next); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(c.tls, volume)); err != nil {
		c.t.Fatal(err)
	}
}

// TestCertificatesOfDatabasesAreReplaced replaces the CA and the certificate of the southbound database and of its clients while packets flow, in the order
// of the PKI controller.
func TestCertificatesOfDatabasesAreReplaced(t *testing.T) {
	c := governed(t)
	w := watch(c.nodes[0], c.nodes[1])
	w.during(t, "the CA and the certificate are replaced", true, w.replaceCertificates)
}

// replaceCertificates publishes the next CA beside the former one, then its certificate, which interrupts no connection, and then the next CA alone. After a
// restart of the server, only clients that have read the next certificate meanwhile can connect.
func (c *cluster) replaceCertificates() {
	c.t.Helper()
	former, next := c.certified, newAuthority(c.t)
	c.certified = next
	before := c.connected()
	c.trust(former, next)
	eventually.Succeeds(c.t, "the server trusts both CAs", func() error {
		_, err := c.handshake(next)
		return err
	})
	c.present(next)
	eventually.Holds(c.t, "the server presents the next certificate", func() (string, bool) {
		presented, err := c.handshake(former)
		return fmt.Sprint(err), err == nil && presented.Equal(next.certificate)
	})
	if after := c.connected(); !slices.Equal(after, before) {
		c.t.Errorf("connections of nodes were %v, and are %v: a renewed certificate interrupts them", before, after)
	}
	c.trust(next)
	// A server adds CAs to those that it trusts while it runs, and removes none.
	one := c.nodes[0]
	one.killProcess(one.server("ovnsb"), "sb-ovsdb")
	eventually.Holds(c.t, "all nodes are connected again", func() (string, bool) {
		after := c.connected()
		still := slices.ContainsFunc(before, func(old string) bool { return slices.Contains(after, old) })
		return fmt.Sprintf("%v, and before %v", after, before), len(after) == len(before) && !still
	})
	for _, m := range c.nodes {
		eventually.Holds(c.t, m.name+" reads the database", func() (string, bool) {
			status, err := ovs.Control(m.run+"/ovn/ovn-controller.ctl").Call(c.t.Context(), "connection-status")
			return fmt.Sprint(status, err), err == nil && strings.TrimSpace(status) == "connected"
		})
	}
	if _, err := c.handshake(next); err != nil {
		c.t.Errorf("a client with the next certificate: %v", err)
	}
	if _, err := c.handshake(former); err == nil || !strings.Contains(err.Error(), "remote error: tls") {
		c.t.Errorf("a client with the former certificate is not refused: %v", err)
	}
}

// connected returns the addresses and ports of clients of the southbound database.
func (c *cluster) connected() []string {
	c.t.Helper()
	var out []string
	for line := range strings.Lines(c.nodes[0].at.Run("ss", "--no-header", "--tcp", "--numeric", "state", "established", "sport", "=", ":6642")) {
		fields := strings.Fields(line)
		out = append(out, fields[len(fields)-1])
	}
	slices.Sort(out)
	return out
}

// handshake connects to the southbound database with a certificate, and returns the one of the server.
func (c *cluster) handshake(with authority) (presented *x509.Certificate, err error) {
	pair, err := tls.X509KeyPair(with.pair.Certificate, with.pair.Key)
	if err != nil {
		return nil, err
	}
	one := c.nodes[0]
	err = ns.WithNetNSPath(one.at.Path(), func(ns.NetNS) error {
		dialer := &net.Dialer{Timeout: eventually.Limit}
		// With TLS 1.2 the handshake ends after the server has verified the client. Which certificate the server presents is what is asked.
		conn, err := tls.DialWithDialer(dialer, "tcp", net.JoinHostPort(one.address.String(), "6642"), &tls.Config{
			Certificates: []tls.Certificate{pair}, MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true, //nolint:gosec // see above
		})
		if err != nil {
			return err
		}
		presented = conn.ConnectionState().PeerCertificates[0]
		return conn.Close()
	})
	return presented, err
}
