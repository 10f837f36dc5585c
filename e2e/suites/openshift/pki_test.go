package openshift

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/certs"
)

// applyPKI creates an OperatorPKI whose certificate has its own name.
func applyPKI(t *testing.T, namespace, name, rotation string) {
	t.Helper()
	object := fmt.Sprintf(`
apiVersion: network.operator.openshift.io/v1
kind: OperatorPKI
metadata: {name: %s, namespace: %s}
spec: {targetCert: {commonName: %s}%s}
`, name, namespace, name, rotation)
	if _, err := lab.KubectlInput(t.Context(), object, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// credentials are those of the OperatorPKI's users at one time.
type credentials struct {
	at        time.Time
	bundle    certs.Bundle
	leaf      certs.Bundle
	authority []byte
}

func readPKI(ctx context.Context, namespace, name string) (credentials, error) {
	var authority, leaf corev1.Secret
	var bundle corev1.ConfigMap
	err := errors.Join(
		lab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-cert"}, &leaf),
		lab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-ca"}, &bundle),
		lab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name + "-ca"}, &authority))
	if err != nil {
		return credentials{}, err
	}
	c := credentials{at: time.Now(), authority: authority.Data["tls.crt"]}
	if c.bundle, err = certs.ParseBundle([]byte(bundle.Data["ca-bundle.crt"])); err != nil {
		return c, err
	}
	c.leaf, err = certs.ParseBundle(leaf.Data["tls.crt"])
	return c, err
}

// TestCAIsReplacedAndNoClientFails runs a rotation within a minute. The operator is killed during the overlap.
// The certificate must be trusted by all bundles of the last ten seconds, half of the overlap, at all times.
func TestCAIsReplacedAndNoClientFails(t *testing.T) {
	const lag = 10 * time.Second
	namespace := lab.Namespace(t)
	applyPKI(t, namespace, "ovn", `, rotation: {authorityValidity: 3m, authorityRefresh: 30s, certificateValidity: 2m, overlap: 20s}`)
	var history []credentials
	kit.Eventually(t, time.Minute, "CA, bundle and certificate exist", func(ctx context.Context) error {
		c, err := readPKI(ctx, namespace, "ovn")
		history = []credentials{c}
		return err
	})
	killed := false
	first := history[0]
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the CA was not replaced")
		}
		c, err := readPKI(t.Context(), namespace, "ovn")
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, c)
		for _, h := range history {
			if time.Since(h.at) < lag && !h.bundle.Trusts(c.leaf[0], time.Now()) {
				t.Fatalf("a bundle of %s ago does not trust the certificate", time.Since(h.at))
			}
		}
		if len(c.bundle) > len(first.bundle) && !killed {
			killed = true
			if _, err := lab.Kubectl(t.Context(), "-n", kit.OperatorNamespace, "delete", "pod", "--all", "--force", "--grace-period=0"); err != nil {
				t.Fatal(err)
			}
		}
		replaced := !c.bundle[:1].Contains(first.bundle) && !c.leaf.Contains(first.leaf)
		if replaced && c.leaf[0].CheckSignatureFrom(c.bundle[0]) == nil && killed {
			t.Logf("replaced after %s, with the operator killed in between", time.Since(first.at).Round(time.Second))
			break
		}
	}
	events, err := lab.Kubectl(t.Context(), "-n", namespace, "get", "events.events.k8s.io", "-o", "jsonpath={.items[*].reason}")
	if err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{"AuthorityMade", "SuccessorTrusted", "SuccessorSigns", "CertificateIssued"} {
		if !strings.Contains(events, reason) {
			t.Errorf("the event %s is missing in %s", reason, events)
		}
	}
}

// TestLostCAStaysTrusted deletes the Secret of the CA.
func TestLostCAStaysTrusted(t *testing.T) {
	kit.Full(t)
	namespace := lab.Namespace(t)
	applyPKI(t, namespace, "ovn", "")
	var before credentials
	kit.Eventually(t, time.Minute, "CA, bundle and certificate exist", func(ctx context.Context) (err error) {
		before, err = readPKI(ctx, namespace, "ovn")
		return err
	})
	if err := lab.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ovn-ca"}}); err != nil {
		t.Fatal(err)
	}
	var after credentials
	kit.Eventually(t, 3*time.Minute, "a new CA is trusted in addition to the lost one", func(ctx context.Context) (err error) {
		// The Secret is written before the bundle.
		if after, err = readPKI(ctx, namespace, "ovn"); err == nil && len(after.bundle) != 2 {
			err = fmt.Errorf("%d are trusted, want 2", len(after.bundle))
		}
		return err
	})
	if !after.bundle.Contains(before.bundle) || !after.leaf.Contains(before.leaf) {
		t.Errorf("the previous CA is trusted: %v; the certificate is the same: %v", after.bundle.Contains(before.bundle), after.leaf.Contains(before.leaf))
	}
}

// TestDeletedOperatorPKIRemovesItsObjects tests that the permission to the Secrets of its namespace is removed, too.
func TestDeletedOperatorPKIRemovesItsObjects(t *testing.T) {
	namespace := lab.Namespace(t)
	applyPKI(t, namespace, "ovn", "")
	kit.Eventually(t, time.Minute, "it is ready", func(ctx context.Context) error {
		_, err := lab.Kubectl(ctx, "-n", namespace, "wait", "--for=condition=Ready", "--timeout=1s", "operatorpki/ovn")
		return err
	})
	if _, err := lab.Kubectl(t.Context(), "-n", namespace, "delete", "operatorpki", "ovn"); err != nil {
		t.Fatal(err)
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: named("ovn-ca")}, &corev1.Secret{ObjectMeta: named("ovn-cert")}, &corev1.ConfigMap{ObjectMeta: named("ovn-ca")},
		&rbacv1.RoleBinding{ObjectMeta: named("cluster-network-operator-pki")},
	} {
		kit.Eventually(t, time.Minute, o.GetName()+" is deleted", func(ctx context.Context) error {
			err := lab.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, errors.New("it is there"))
		})
	}
}
