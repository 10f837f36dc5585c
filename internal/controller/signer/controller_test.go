package signer

import (
	"crypto/x509"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/certs"
)

func TestNodeRequestIsApprovedAndSigned(t *testing.T) {
	w := newCluster(t)
	ca := newCA(t)
	w.setCA(ca.Pair())
	w.node("master-0", "192.0.2.10")
	w.start()
	csr := good(t)
	long := int32(5 * 365 * 24 * 3600)
	csr.Spec.ExpirationSeconds = &long
	template := named("master-0")
	template.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 10)}
	csr.Spec.Request = encode(t, template, newKey(t))
	name := w.mustRequest(csr).Name
	w.await(time.Minute, "it is signed", func() bool { return len(w.get(name).Status.Certificate) > 0 })
	harmless(t, w.get(name).Status.Certificate, Node{Name: "master-0", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}, ca)
	approved := condition(w.get(name), certificatesv1.CertificateApproved)
	if approved.Reason != "AutoApproved" || !strings.HasPrefix(approved.Message, "Automatically approved by network.openshift.io/signer: asked for 43800h") {
		t.Errorf("the approval has %q: %s", approved.Reason, approved.Message)
	}
}

func TestDecidedRequestsAreNotDecidedAgain(t *testing.T) {
	w := newCluster(t)
	w.setCA(newCA(t).Pair())
	w.node("master-0", "")
	denied, approved, hostile := w.mustRequest(good(t)), w.mustRequest(good(t)), good(t)
	hostile.Spec.Request = encode(t, named("worker-1"), newKey(t))
	hostile = w.mustRequest(hostile)
	for csr, kind := range map[*certificatesv1.CertificateSigningRequest]certificatesv1.RequestConditionType{
		denied: certificatesv1.CertificateDenied, approved: certificatesv1.CertificateApproved, hostile: certificatesv1.CertificateApproved} {
		csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: "Person"}}
		if err := w.Client.SubResource("approval").Update(t.Context(), csr); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	w.await(time.Minute, "what a person has approved is signed", func() bool { return len(w.get(approved.Name).Status.Certificate) > 0 })
	w.await(time.Minute, "what a person has approved by mistake fails", func() bool {
		return condition(w.get(hostile.Name), certificatesv1.CertificateFailed).Reason == reasonName
	})
	issued := w.get(approved.Name)
	if len(issued.Status.Conditions) != 1 {
		t.Errorf("the approval was changed: %v", issued.Status.Conditions)
	}
	if c := w.get(denied.Name); len(c.Status.Conditions) != 1 || len(c.Status.Certificate) > 0 {
		t.Errorf("what was denied is %+v", c.Status)
	}
	// The node is deleted; its certificates stay.
	if err := w.Client.DeleteAllOf(t.Context(), &corev1.Node{}); err != nil {
		t.Fatal(err)
	}
	other := w.mustRequest(good(t))
	w.await(time.Minute, "the next one is denied", func() bool {
		return condition(w.get(other.Name), certificatesv1.CertificateDenied).Reason == reasonUser
	})
	if again := w.get(approved.Name); again.ResourceVersion != issued.ResourceVersion {
		t.Error("an issued certificate was touched")
	}
}

func TestAMissingOrCorruptCAIsWaitedFor(t *testing.T) {
	w := newCluster(t)
	w.node("master-0", "")
	ca := newCA(t)
	w.start()
	name := w.mustRequest(good(t)).Name
	found := func(reason string) func() bool {
		return func() bool {
			f := w.reported()
			return len(f) == 1 && f[0].Reason == reason && f[0].Component == "CertificateSigner" && strings.Contains(f[0].Message, "openshift-ovn-kubernetes/signer-ca")
		}
	}
	w.await(time.Minute, "the missing CA is reported", found("CAFailure"))
	w.setCA(certs.Pair{Certificate: []byte("garbage"), Key: ca.Pair().Key})
	w.await(time.Minute, "the corrupt certificate is reported", found("CorruptCACert"))
	w.setCA(certs.Pair{Certificate: ca.Pair().Certificate, Key: newCA(t).Pair().Key})
	w.await(time.Minute, "the corrupt key is reported", found("CorruptCAKey"))
	gone := w.mustRequest(of(good(t), "master-0"))
	if err := w.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	w.setCA(ca.Pair())
	w.await(time.Minute, "it is signed", func() bool { return len(w.get(name).Status.Certificate) > 0 })
	w.await(time.Minute, "nothing is reported any more", func() bool { return len(w.reported()) == 0 })
}

func TestFindingsEndWithTheirRequest(t *testing.T) {
	w := newCluster(t)
	w.node("master-0", "")
	w.start()
	csr := w.mustRequest(good(t))
	w.await(time.Minute, "the missing CA is reported", func() bool { return len(w.reported()) == 1 })
	if err := w.Client.Delete(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
	w.await(time.Minute, "nothing is reported any more", func() bool { return len(w.reported()) == 0 })
}

func TestANodeThatTheCacheDoesNotKnowYetIsNotRefused(t *testing.T) {
	w := newCluster(t)
	w.setCA(newCA(t).Pair())
	c := w.controller(&emptyCache{w.Client})
	c.Live = w.Client
	csr := w.mustRequest(good(t))
	w.node("master-0", "") // after the request, as for a node that has just joined
	if d, err := c.decide(t.Context(), csr); err != nil || d.Action != Sign {
		t.Errorf("%s %s, %v", d.Action, d.Message(), err)
	}
}

func TestAnIdentityThatTwoNodesClaimBelongsToNeither(t *testing.T) {
	w := newCluster(t)
	w.setCA(newCA(t).Pair())
	w.node("master-0", "192.0.2.10")
	w.node("worker-1", "192.0.2.11")
	w.start()
	ask := func(template *x509.CertificateRequest) string {
		csr := good(t)
		csr.Spec.Request = encode(t, template, newKey(t))
		return w.mustRequest(csr).Name
	}
	node := &corev1.Node{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: "master-0"}, node); err != nil {
		t.Fatal(err)
	}
	// A kubelet writes its own addresses, and may write those of another node, or another node's name as its host name.
	apitest.ChangeStatus(t, w.Client, node, func() {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.11"}, {Type: corev1.NodeHostName, Address: "worker-1"}}
	})
	address := named("master-0")
	address.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 11)}
	for reason, name := range map[string]string{reasonSAN: ask(address), reasonName: ask(named("worker-1"))} {
		w.await(time.Minute, "it is denied", func() bool {
			c := condition(w.get(name), certificatesv1.CertificateDenied)
			return c.Reason == reason && strings.Contains(c.Message, "which another node claims, too")
		})
	}
}
