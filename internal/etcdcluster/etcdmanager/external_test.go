package etcdmanager_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
)

func TestUnresponsiveEtcdIsReportedAndRetriedWithBackOff(t *testing.T) {
	w := newWorld(t)
	url, etcd, process := etcdnodes.External(t)
	w.external = &etcdcluster.External{Endpoints: []string{url}}
	w.Until("the network's configuration is written", func() bool {
		list, err := etcd.Read(t.Context(), configKey)
		return err == nil && len(list) == 1
	})
	process.Kill()
	var waits []time.Duration
	for range 4 {
		r, err := w.Controller.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatalf("it is an error of the reconcile, which would be retried at once: %v", err)
		}
		waits = append(waits, r.RequeueAfter)
	}
	if got := w.Message("EtcdUnreachable"); !strings.Contains(got, "does not answer: ") || !strings.Contains(got, "connection refused") || !strings.Contains(got, "pods that run keep their network") {
		t.Errorf("got %q", got)
	}
	if waits[0] != time.Second || waits[1] != 2*time.Second || waits[3] != 8*time.Second {
		t.Errorf("tried again after %v", waits)
	}
}

func TestTheCredentialsOfAnExternalEtcdAreCopiedOrRequested(t *testing.T) {
	w := newWorld(t)
	w.external = &etcdcluster.External{Endpoints: []string{"https://127.0.0.1:1"}, CAConfigMap: "ca", ClientSecret: "client"}
	w.Turn()
	if got := w.Message("EtcdCredentials"); !strings.Contains(got, `ConfigMap openshift-network-operator/ca must have the CAs of the external etcd under the key ca-bundle.crt`) {
		t.Errorf("without a ConfigMap got %q", got)
	}
	r, _, err := certs.Rotation{}.Step(etcdmanager.Policy(cluster), w.Now)
	if err != nil {
		t.Fatal(err)
	}
	ca := &corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": string(r.Current.Pair().Key)}}
	ca.Namespace, ca.Name = operatorNamespace, "ca"
	if err := w.API.Create(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	w.Turn()
	if got := w.Message("EtcdCredentials"); !strings.Contains(got, "block 1 is a private key") {
		t.Errorf("with a private key among the CAs got %q", got)
	}
	ca.Data["ca-bundle.crt"] = string(r.Bundle().PEM())
	if err := w.API.Update(t.Context(), ca); err != nil {
		t.Fatal(err)
	}
	w.Turn()
	if got := w.Message("EtcdCredentials"); !strings.Contains(got, "Secret openshift-network-operator/client must have the client certificate and key") {
		t.Errorf("without a Secret got %q", got)
	}
	pair, err := r.Current.Issue(cluster.ClientRequest(), w.Now)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: pair.Certificate, corev1.TLSPrivateKeyKey: pair.Key}}
	secret.Namespace, secret.Name = operatorNamespace, "client"
	if err := w.API.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	var copied corev1.Secret
	w.Until("it is copied", func() bool {
		return w.API.Get(t.Context(), client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.ClientSecret()}, &copied) == nil && w.Members().ClientTrust != ""
	})
	if string(copied.Data["tls.crt"]) != string(pair.Certificate) || string(copied.Data["ca.crt"]) != ca.Data["ca-bundle.crt"] {
		t.Error("the copy differs")
	}
}
