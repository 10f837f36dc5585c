package node_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/providers/flannel/node/etcdtest"
)

func authority(t *testing.T, name string) *certs.CA {
	t.Helper()
	a, err := certs.NewCA(name, time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// issue writes a certificate of a CA into a directory, and the given CAs as trusted.
func issue(t *testing.T, dir string, from *certs.CA, trusted ...*certs.CA) etcdtest.Files {
	t.Helper()
	pair, err := from.Issue(certs.Request{
		CommonName: "test", Usage: certs.Peer, Addresses: []netip.Addr{netip.MustParseAddr(gateway)}, Life: time.Hour,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var bundle certs.Bundle
	for _, a := range trusted {
		bundle = bundle.With(a.Certificate())
	}
	files := etcdtest.Files{CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	for name, content := range map[string][]byte{files.CA: bundle.PEM(), files.Cert: pair.Certificate, files.Key: pair.Key} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestNewCAIsUsedWithoutARestart(t *testing.T) {
	former, next := authority(t, "former"), authority(t, "next")
	server, client := t.TempDir(), t.TempDir()
	seg := newSegmentTLS(t, issue(t, server, former, former))
	m := seg.node("node1", "192.168.0.100")
	files := issue(t, client, former, former)
	m.config.Etcd.CAFile, m.config.Etcd.CertFile, m.config.Etcd.KeyFile = files.CA, files.Cert, files.Key
	m.ready()

	issue(t, client, next, former, next)
	seg.etcd.Kill()
	issue(t, server, next, former, next)
	seg.etcd.Run()
	seg.kv = seg.etcd.Client()
	seg.put(prefix+"/subnets/10.1.77.0-24", `{"PublicIP":"192.168.0.77","PublicIPv6":null,"BackendType":"host-gw"}`)
	m.hasRoute("10.1.77.0/24 via 192.168.0.77 dev eth0", true)
	m.alive()
}
