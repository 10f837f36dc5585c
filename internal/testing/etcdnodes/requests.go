package etcdnodes

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/nodecert"
)

// Agent returns a client for requests for certificates, with the token that a kubelet gives to the pod of the network's agent on a node. The
// test gives the agents' service account its permissions.
func (w *World) Agent(node string) *nodecert.Client {
	w.T.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.Cluster.Namespace, Name: w.Cluster.ServiceAccount}}
	if err := client.IgnoreAlreadyExists(w.API.Create(w.T.Context(), account)); err != nil {
		w.T.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Cluster.Namespace, Name: "agent-" + node}, Spec: corev1.PodSpec{
		NodeName: node, ServiceAccountName: w.Cluster.ServiceAccount, AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{Name: "agent", Image: "agent"}},
	}}
	if err := w.API.Create(w.T.Context(), pod); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = w.API.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
	agent, err := nodecert.NewClient(w.Server.Pod(w.T, pod), w.Cluster.Signer(), certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth)
	if err != nil {
		w.T.Fatal(err)
	}
	return agent
}

// Sign has an agent request a certificate, and takes turns until the request is answered.
func (w *World) Sign(agent *nodecert.Client, name string, request []byte) (certificate []byte, err error) {
	w.T.Helper()
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(w.T.Context(), 2*time.Minute)
	defer cancel()
	go func() {
		defer close(done)
		certificate, err = agent.Sign(ctx, name, request)
	}()
	w.Until("the request is answered", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	return certificate, err
}

// Request returns the request for a certificate that the agent on a node makes.
func Request(t *testing.T, cluster etcdcluster.Cluster, node string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: cluster.NodeUser(node)}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
