package signer

import (
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestAnIdentityStaysWithTheNodeThatHadItFirst(t *testing.T) {
	type claims = map[string][]string
	for _, row := range []struct {
		why    string
		before holders
		claims claims
		want   holders
	}{
		{"one node claims it", holders{}, claims{"i": {"a"}}, holders{"i": "a"}},
		{"another one claims it later", holders{"i": "a"}, claims{"i": {"a", "b"}}, holders{"i": "a"}},
		{"two claim it at once", holders{}, claims{"i": {"a", "b"}}, holders{"i": disputed}},
		{"none claims it any more", holders{"i": "a"}, claims{}, holders{}},
		{"the first lets it go while another claims it", holders{"i": "a"}, claims{"i": {"b"}}, holders{"i": disputed}},
		{"and takes it again", holders{"i": disputed}, claims{"i": {"a", "b"}}, holders{"i": disputed}},
		{"a dispute does not end in favour of who claims longest", holders{"i": disputed}, claims{"i": {"b"}}, holders{"i": disputed}},
		{"a node takes over an address that was free", holders{"i": "a"}, claims{"i": {"a"}, "j": {"b"}}, holders{"i": "a", "j": "b"}},
	} {
		if diff := cmp.Diff(row.want, assignHolders(row.before, row.claims)); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

func TestTheRecordOfTenThousandNodesFitsIntoAConfigMap(t *testing.T) {
	h := holders{"192.0.2.1": disputed}
	for i := range 10_000 {
		node := fmt.Sprintf("ip-10-0-%03d-%03d.ap-southeast-2.compute.internal", i/256, i%256)
		for _, identity := range []string{
			fmt.Sprintf("10.0.%d.%d", i/256, i%256), fmt.Sprintf("2001:db8::%x", i*7919), node + ".example.com",
			fmt.Sprintf("%08x-0000-4000-8000-%012x", i*7919*104729%(1<<32), i*1299709*15485863%(1<<48)),
		} {
			h[identity] = node
		}
	}
	data, err := h.encode()
	if err != nil || len(data) > 3<<18 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	back, err := decodeHolders(data)
	if diff := cmp.Diff(h, back); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, broken := range [][]byte{nil, data[:len(data)/2], []byte("x")} {
		if _, err := decodeHolders(broken); err == nil {
			t.Errorf("%d bytes are decoded", len(broken))
		}
	}
}

// TestTheVictimOfAnotherNodesClaimGetsItsCertificate: a compromised node claims the address and the name of another one.
func TestTheVictimOfAnotherNodesClaimGetsItsCertificate(t *testing.T) {
	const address, name = "192.0.2.11", "worker-1.example.com"
	w := newCluster(t)
	w.setCA(newCA(t).Pair())
	w.node("master-0", "192.0.2.10")
	w.node("worker-1", "")
	claim := func(of string) {
		t.Helper()
		node := &corev1.Node{}
		if err := w.Client.Get(t.Context(), client.ObjectKey{Name: of}, node); err != nil {
			t.Fatal(err)
		}
		apitest.ChangeStatus(t, w.Client, node, func() {
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeInternalDNS, Address: name}}
		})
	}
	ask := func(node string) *certificatesv1.CertificateSigningRequest {
		t.Helper()
		template := named(name)
		template.IPAddresses = []net.IP{net.ParseIP(address)}
		return asking(t, w, node, template)
	}
	claim("worker-1")
	c := w.start()
	signed := func(csr *certificatesv1.CertificateSigningRequest) {
		t.Helper()
		w.await(time.Minute, "it is signed", func() bool { return len(w.get(csr.Name).Status.Certificate) > 0 })
	}
	signed(ask("worker-1"))
	w.await(time.Minute, "it is recorded", func() bool { return c.record.holder(address) == "worker-1" && c.record.holder(name) == "worker-1" })
	claim("master-0")
	w.await(time.Minute, "the operator sees the claim", func() bool {
		found, err := findClaim(t.Context(), c.Client, "worker-1", address)
		return err == nil && found.claimed
	})
	signed(ask("worker-1"))
	denied := ask("master-0")
	w.await(time.Minute, "the later claimant is denied, with the reason", func() bool {
		why := condition(w.get(denied.Name), certificatesv1.CertificateDenied).Message
		return strings.Contains(why, `which another node claims, too: node "worker-1" had it first`) && strings.Contains(why, address)
	})
	next := w.controller(c.Client) // what the next operator decides, which has the record alone
	next.Live = w.Client
	for node, want := range map[string]Action{"worker-1": Sign, "master-0": Deny} {
		csr := ask(node)
		csr.Status.Conditions = nil
		if d, err := next.decide(t.Context(), csr); err != nil || d.Action != want {
			t.Errorf("after a restart, %s: %s %s, %v", node, d.Action, d.Message(), err)
		}
	}
}

// asking makes a request of a node.
func asking(t *testing.T, w *cluster, node string, template *x509.CertificateRequest) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	csr := of(good(t), node)
	csr.Spec.Request = encode(t, template, newKey(t))
	return w.mustRequest(csr)
}

func TestANodeIsNoService(t *testing.T) {
	node := &corev1.Node{}
	node.Name = "worker-1"
	for _, address := range []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "db-0.db.shop.svc.example.com",
		"localhost", "x.localhost", "worker-1.svc.example.com", "svc.example.com", "worker-1.example.com", "kubernetes.example.com"} {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: address})
	}
	names, _ := identities(node)
	if diff := cmp.Diff([]string{"worker-1.svc.example.com", "svc.example.com", "worker-1.example.com", "kubernetes.example.com"}, names); diff != "" {
		t.Error(diff)
	}
}
