package openshift

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/certs"
)

const signerNamespace = "openshift-ovn-kubernetes"

// nodeRequest creates the text of a request for a certificate, and the key.
func nodeRequest(t *testing.T, template x509.CertificateRequest) (request, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// nodeKubeconfig requests the credential of a node, like that of OVN's agent, from the API server's own signer, and returns the path of a
// kubeconfig with it.
func nodeKubeconfig(t *testing.T, node string) string {
	t.Helper()
	request, key := nodeRequest(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:ovn-node:" + node, Organization: []string{"system:ovn-nodes"}}})
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "ovn-node-"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}}}
	if err := lab.Client.Create(t.Context(), csr); err != nil {
		t.Fatal(err)
	}
	if _, err := lab.Kubectl(t.Context(), "certificate", "approve", csr.Name); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the node has a credential", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(csr), csr); err != nil {
			return err
		}
		if len(csr.Status.Certificate) == 0 {
			return errors.New("it is not signed")
		}
		return nil
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: lab.Config.Host, CertificateAuthorityData: lab.Config.CAData, CertificateAuthority: lab.Config.CAFile}
	config.AuthInfos["node"] = &clientcmdapi.AuthInfo{ClientCertificateData: csr.Status.Certificate, ClientKeyData: key}
	config.Contexts["node"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "node"}
	config.CurrentContext = "node"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// signerWorld creates objects of OVN-Kubernetes: its namespace, the CA, and the permission of nodes to request certificates.
func signerWorld(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "e2e-ovn-nodes"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "e2e-ovn-nodes"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "system:ovn-nodes"}}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: signerNamespace, Annotations: map[string]string{kit.AllowDeletion: "true"}}}
	for _, o := range []client.Object{role, binding, namespace} {
		if err := lab.Client.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := lab.Client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
	}
	applyPKI(t, signerNamespace, "signer", "")
}

// nodeCreates makes a node create a request with kubectl, as its pod of IPsec does, and returns its name.
func nodeCreates(t *testing.T, kubeconfig string, request []byte) string {
	t.Helper()
	object := fmt.Sprintf(`
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {generateName: ipsec-csr-}
spec: {signerName: network.openshift.io/signer, usages: [ipsec tunnel], expirationSeconds: 157680000, request: %s}
`, base64.StdEncoding.EncodeToString(request))
	cmd := exec.CommandContext(t.Context(), filepath.Join(lab.Root, "_output/lab/bin/kubectl"), "--kubeconfig", kubeconfig, "create", "-f", "-", "-o", "name")
	cmd.Stdin, cmd.Stderr = strings.NewReader(object), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "certificatesigningrequest.certificates.k8s.io/")
}

func TestNodeCertificateIsSignedAndForgedRequestsAreDenied(t *testing.T) {
	signerWorld(t)
	kubeconfig := nodeKubeconfig(t, "worker-0")
	good, _ := nodeRequest(t, x509.CertificateRequest{Subject: pkix.Name{CommonName: "worker-0"}, DNSNames: []string{"worker-0"}, IPAddresses: []net.IP{net.IPv4(10, 89, 0, 12)}})
	name := nodeCreates(t, kubeconfig, good)
	var csr certificatesv1.CertificateSigningRequest
	kit.Eventually(t, time.Minute, "the certificate is signed", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, client.ObjectKey{Name: name}, &csr); err != nil {
			return err
		}
		if len(csr.Status.Certificate) == 0 {
			return fmt.Errorf("conditions are %+v", csr.Status.Conditions)
		}
		return nil
	})
	issued, err := certs.ParseBundle(csr.Status.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	pki, err := readPKI(t.Context(), signerNamespace, "signer")
	if err != nil || issued[0].CheckSignatureFrom(pki.bundle[0]) != nil {
		t.Errorf("the certificate is not signed by the CA: %v", err)
	}
	if life := issued[0].NotAfter.Sub(issued[0].NotBefore); life > 30*24*time.Hour || issued[0].IsCA || issued[0].Subject.CommonName != "worker-0" {
		t.Errorf("%s is valid for %s", issued[0].Subject, life)
	}
	for _, forgery := range []struct {
		request         x509.CertificateRequest
		reason, message string
	}{
		{x509.CertificateRequest{Subject: pkix.Name{CommonName: "worker-1"}}, "CSRInvalidCommonName", `denied: requested CN "worker-1" but requester is node "worker-0"`},
		{x509.CertificateRequest{Subject: pkix.Name{CommonName: "worker-0"}, DNSNames: []string{"kubernetes"}}, "CSRInvalidSubjectAltName", `requested DNS name "kubernetes"`},
		{x509.CertificateRequest{Subject: pkix.Name{CommonName: "worker-0"}, IPAddresses: []net.IP{net.IPv4(10, 89, 0, 11)}}, "CSRInvalidSubjectAltName", `requested IP address "10.89.0.11"`},
		{x509.CertificateRequest{Subject: pkix.Name{CommonName: "worker-0", Organization: []string{"system:masters"}}}, "CSRInvalidSubject", `requested organization "system:masters"`},
	} {
		request, _ := nodeRequest(t, forgery.request)
		denied(t, nodeCreates(t, kubeconfig, request), forgery.reason, forgery.message)
	}
	// An administrator is no node.
	denied(t, nodeCreates(t, lab.Kubeconfig(), good), "CSRInvalidUser", "is not system:ovn-node:<existing node> in group system:ovn-nodes")
	degraded, err := lab.Kubectl(t.Context(), "get", "clusteroperator", "network", "-o", `jsonpath={.status.conditions[?(@.type=="Degraded")].status}`)
	if err != nil || degraded != "False" {
		t.Errorf("invalid requests of nodes degrade the cluster: %q, %v", degraded, err)
	}
}

func denied(t *testing.T, name, reason, message string) {
	t.Helper()
	kit.Eventually(t, time.Minute, "it is denied", func(ctx context.Context) error {
		var csr certificatesv1.CertificateSigningRequest
		if err := lab.Client.Get(ctx, client.ObjectKey{Name: name}, &csr); err != nil {
			return err
		}
		for _, c := range csr.Status.Conditions {
			if c.Type == certificatesv1.CertificateDenied && c.Reason == reason && strings.Contains(c.Message, message) && len(csr.Status.Certificate) == 0 {
				return nil
			}
		}
		return fmt.Errorf("%+v", csr.Status)
	})
}
