package pki

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestNodesHaveTheFilesOfTheirRole(t *testing.T) {
	lab := newTopology(t, topology.Options{ControlPlanes: 1, Workers: 1, Family: topology.IPv4})
	cluster, err := NewCluster(now)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"cp-0": {
			Admin, APIServer, KubeletClient, ControllerManager, Etcd, FrontProxyClient, KubeProxy, Kubelet, Scheduler,
		},
		"worker-0": {KubeProxy, Kubelet},
	}
	for _, n := range lab.Nodes {
		pairs, err := cluster.Issue(lab, n, now)
		if err != nil {
			t.Fatal(err)
		}
		names := want[n.Name]
		slices.Sort(names)
		var got []string
		for name := range pairs {
			got = append(got, name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("%s:\n%s", n.Name, diff)
		}
	}
}

func TestAPIServerCertificateHasAllItsNames(t *testing.T) {
	lab := newTopology(t, topology.Options{ControlPlanes: 1, Family: topology.DualStack})
	leaf, roots := issue(t, lab, APIServer)
	for _, name := range []string{
		"cp-0", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		// The machine's loopback, the node, the service, the load balancer.
		"127.0.0.1", "::1", "10.89.0.11", "fd89::b", "10.96.0.1", "fd96::1", "10.89.0.1", "fd89::1",
	} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := leaf.VerifyHostname("10.89.0.12"); err == nil {
		t.Error("it is trusted by the address of another node")
	}
}

func TestKubeletHasTheIdentityThatTheNodeAuthorizerExpects(t *testing.T) {
	lab := newTopology(t, topology.Options{ControlPlanes: 1, Family: topology.IPv4})
	leaf, roots := issue(t, lab, Kubelet)
	if leaf.Subject.CommonName != "system:node:cp-0" || !slices.Contains(leaf.Subject.Organization, "system:nodes") {
		t.Errorf("it is issued to %s", leaf.Subject)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			t.Errorf("usage %v: %v", usage, err)
		}
	}
}

func TestClientsCannotActAsServers(t *testing.T) {
	lab := newTopology(t, topology.Options{ControlPlanes: 1, Family: topology.IPv4})
	for _, name := range []string{Admin, Scheduler, ControllerManager, KubeProxy, KubeletClient} {
		leaf, roots := issue(t, lab, name)
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err == nil {
			t.Errorf("%s may act as a server", name)
		}
	}
}

func TestFrontProxyHasItsOwnCA(t *testing.T) {
	lab := newTopology(t, topology.Options{ControlPlanes: 1, Family: topology.IPv4})
	leaf, roots := issue(t, lab, FrontProxyClient)
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err == nil {
		t.Error("it is trusted as a user of the cluster")
	}
}

func TestLoadCARefusesInvalidPairs(t *testing.T) {
	keys, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Pair{"nothing": {}, "bare keys": keys} {
		if _, err := LoadCA(p); err == nil {
			t.Errorf("%s were loaded", name)
		}
	}
}

// issue makes the named certificate of cp-0 and the cluster's trust.
func issue(t *testing.T, lab topology.Topology, name string) (*x509.Certificate, *x509.CertPool) {
	t.Helper()
	cluster, err := NewCluster(now)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := cluster.Issue(lab, lab.Nodes[0], now)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(pairs[name].Cert)
	if block == nil {
		t.Fatalf("%s is not PEM", name)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cluster.CA.Cert)
	return leaf, roots
}

func newTopology(t *testing.T, o topology.Options) topology.Topology {
	t.Helper()
	lab, err := topology.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(lab.Nodes[0].Addresses, lab.Nodes[0].Primary()) || lab.Nodes[0].Primary() == (netip.Addr{}) {
		t.Fatal("the first node has no address")
	}
	return lab
}
