package operator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/certs"
)

// TestNodeGetsItsCertificateFromTheOperatorOnly covers everything from an OperatorPKI to the certificate of a node, with nothing but the
// permissions of config/rbac. No object but the user's exists before.
func TestNodeGetsItsCertificateFromTheOperatorOnly(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	const namespace = "openshift-ovn-kubernetes"
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	c.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-0"}})
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)))
	c.create(&networkv1.OperatorPKI{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "signer"},
		Spec: networkv1.OperatorPKISpec{TargetCert: networkv1.CertSpec{CommonName: "signer"}}})
	csr := c.requestAs("system:ovn-node:worker-0", "system:ovn-nodes", "worker-0")
	c.eventually("the node has its certificate", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKeyFromObject(csr), csr) == nil && len(csr.Status.Certificate) > 0
	})
	bundle := c.configMap(namespace, "signer-ca")
	block, _ := pem.Decode(csr.Status.Certificate)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || certificate.CheckSignatureFrom(certs.Salvage([]byte(bundle["ca-bundle.crt"]))[0]) != nil {
		t.Errorf("the bundle does not trust the certificate: %v", err)
	}
	// A role that was just made holds some milliseconds later, so that a first try may be refused. Nothing may stay refused.
	refused := map[string]bool{}
	for _, r := range c.Requests(t) {
		if r.User.Username == "system:serviceaccount:"+operatorNamespace+":"+serviceAccount {
			refused[r.Verb+" "+r.URI] = r.Response.Code == http.StatusForbidden
		}
	}
	for request, last := range refused {
		if last {
			t.Errorf("%s was refused", request)
		}
	}
}

// requestAs makes a request for a certificate as a user.
func (c *cluster) requestAs(user, group, name string) *certificatesv1.CertificateSigningRequest {
	c.t.Helper()
	c.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "request-certificates"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create"}}}})
	c.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "request-certificates"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "request-certificates"},
		Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: group}}})
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{group}}
	asUser, err := client.New(config, client.Options{Scheme: c.Client.Scheme()})
	if err != nil {
		c.t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		c.t.Fatal(err)
	}
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "ipsec-csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "network.openshift.io/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageIPsecTunnel},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}}
	c.eventually("the permission to make requests exists", func() bool { return asUser.Create(c.t.Context(), csr) == nil })
	return csr
}
