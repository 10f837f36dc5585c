package controller

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

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/nodecert"
	"github.com/cluster-network-operator/cno/providers/flannel"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// agentOn returns a configuration of the API with the token that kubelets give to the pod of an agent on a node.
func (w *world) agentOn(node string) *rest.Config {
	w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.Etcd.ServiceAccount}}
	if err := client.IgnoreAlreadyExists(w.api.Create(w.t.Context(), account)); err != nil {
		w.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: "flanneld-" + node}, Spec: corev1.PodSpec{
		NodeName: node, ServiceAccountName: record.Etcd.ServiceAccount, AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{{Name: "flanneld", Image: "flannel"}},
	}}
	if err := w.api.Create(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), pod, client.GracePeriodSeconds(0)) })
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if err := w.api.SubResource("token").Create(w.t.Context(), account, token); err != nil {
		w.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(w.server.Config)
	config.BearerToken = token.Status.Token
	return config
}

// applyRoles applies the roles that are rendered for agents.
func (w *world) applyRoles() {
	w.t.Helper()
	spec := flannel.New().Default(&w.spec, nil, facts.Cluster{HostMTU: 1500})
	renderer, err := flannel.New().Observe(w.t.Context(), w.api, spec)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := renderer.Render(spec, facts.Cluster{Images: w.images})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range out.Objects {
		if kind := o.Key().Kind; kind == "ClusterRole" || kind == "ClusterRoleBinding" {
			if err := w.api.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(o.Object), client.FieldOwner("test"), client.ForceOwnership); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.t.Cleanup(func() {
		for _, o := range []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}} {
			o.SetName("openshift-flannel")
			_ = w.api.Delete(context.Background(), o)
		}
	})
}

// newRequester is what the agent requests certificates with.
func newRequester(config *rest.Config) (*nodecert.Client, error) {
	return nodecert.NewClient(config, record.Etcd.Signer(), certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth)
}

// TestANodesCertificateComesFromTheTokenOfItsPod has a real API server say which node a request comes from.
func TestANodesCertificateComesFromTheTokenOfItsPod(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	w.node("a", 1, true)
	w.until("etcd answers", func() bool { return len(w.voters()) == 1 && w.members().Members[0].ID != "" })
	w.applyRoles()
	agent, err := newRequester(w.agentOn("a"))
	if err != nil {
		t.Fatal(err)
	}
	text := requestOf(t, "a")
	good := w.sign(agent, "flannel-etcd-good", text)
	if good.err != nil {
		t.Fatal(good.err)
	}
	if hostile := w.sign(agent, "flannel-etcd-hostile", requestOf(t, "b")); hostile.err == nil {
		t.Error("node a has a certificate of node b")
	}
	if again, err := agent.Sign(t.Context(), "flannel-etcd-good", text); err != nil || string(again) != string(good.certificate) {
		t.Errorf("the same request again: %v", err)
	}
}

// TestANodeGetsACertificateWhileAMemberIsDown is about the first day of a CA, in which members might not trust it yet.
func TestANodeGetsACertificateWhileAMemberIsDown(t *testing.T) {
	w := newWorld(t, &operatorv1.FlannelConfig{})
	nodes := []string{"cp-0", "cp-1", "cp-2"}
	for i, name := range nodes {
		w.node(name, i+1, true)
	}
	w.settle(nodes...)
	w.applyRoles()
	agent, err := newRequester(w.agentOn("cp-0"))
	if err != nil {
		t.Fatal(err)
	}
	w.switchOff("cp-2")
	w.turn() // its pod is reported as not ready
	if got := w.sign(agent, "flannel-etcd-one-down", requestOf(t, "cp-0")); got.err != nil {
		t.Error(got.err)
	}
}

// signed is what an agent gets for a request.
type signed struct {
	certificate []byte
	err         error
}

// sign has an agent request a certificate, and takes turns until that is answered.
func (w *world) sign(agent *nodecert.Client, name string, text []byte) (out signed) {
	w.t.Helper()
	done := make(chan signed, 1)
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	go func() {
		certificate, err := agent.Sign(ctx, name, text)
		done <- signed{certificate, err}
	}()
	w.until("the request is answered", func() bool {
		select {
		case out = <-done:
			return true
		default:
			return false
		}
	})
	return out
}

// requestOf returns the request that the agent on a node makes.
func requestOf(t *testing.T, node string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: record.Etcd.NodeUser(node)}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
