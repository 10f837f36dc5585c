package openshift

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

const injectLabel = "config.openshift.io/inject-trusted-cabundle"

// asking creates a ConfigMap that requests the trust bundle.
func asking(t *testing.T, namespace, name string, immutable bool) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{injectLabel: "true"}}, Data: map[string]string{"mine": "1"}}
	if immutable {
		cm.Immutable = &immutable
	}
	if err := lab.Client.Create(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
}

// injected returns nil if a ConfigMap has certificates with a prefix, and the data of its owner.
func injected(namespace, name, begin string) func(context.Context) error {
	return func(ctx context.Context) error {
		cm := &corev1.ConfigMap{}
		if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, cm); err != nil {
			return err
		}
		if got := cm.Data[bundleKey]; got == "" || !strings.HasPrefix(got, begin) || cm.Data["mine"] != "1" {
			return fmt.Errorf("%s/%s has %d bytes of certificates, and mine=%q", namespace, name, len(got), cm.Data["mine"])
		}
		return nil
	}
}

// hasEvent returns nil if the events on a ConfigMap are those with one reason.
func hasEvent(namespace, name, reason string) func(context.Context) error {
	return func(ctx context.Context) error {
		reasons, err := lab.Kubectl(ctx, "-n", namespace, "get", "events.events.k8s.io", "-o", fmt.Sprintf(`jsonpath={.items[?(@.regarding.name==%q)].reason}`, name))
		if err == nil && reasons != reason {
			return fmt.Errorf("the events are %q", reasons)
		}
		return err
	}
}

// TestLabeledConfigMapGetsTheTrustBundle follows a new CA from the administrator's ConfigMap to those of tenants, and its removal.
func TestLabeledConfigMapGetsTheTrustBundle(t *testing.T) {
	namespace := lab.Namespace(t)
	asking(t, namespace, "asks", false)
	asking(t, namespace, "immutable", true)
	kit.Eventually(t, time.Minute, "the trust bundle is injected", injected(namespace, "asks", "-----BEGIN CERTIFICATE-----\n"))
	kit.Eventually(t, time.Minute, "an object that cannot have it gets an event", hasEvent(namespace, "immutable", "CABundleImmutable"))
	user := newCA(t, "new")
	cm := userCA(t, user)
	setProxy(t, configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: cm.Name}})
	kit.Eventually(t, time.Minute, "a new CA is injected", injected(namespace, "asks", user))
	if _, err := lab.Kubectl(t.Context(), "-n", namespace, "label", "configmap", "asks", injectLabel+"-"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "a ConfigMap without the label keeps only its own data", func(ctx context.Context) error {
		got := &corev1.ConfigMap{}
		if err := lab.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "asks"}, got); err != nil {
			return err
		}
		if len(got.Data) != 1 || len(got.Annotations) > 0 {
			return fmt.Errorf("it has %d keys and the annotations %v", len(got.Data), got.Annotations)
		}
		return nil
	})
	kit.Eventually(t, time.Minute, "the ConfigMap gets an event", hasEvent(namespace, "asks", "CABundleRemoved"))
	if err := lab.Settled(t.Context()); err != nil {
		t.Errorf("a tenant's error changes conditions of the cluster: %v", err)
	}
}

// TestThousandConfigMapsGetANewCA logs the time from the administrator's write to the last ConfigMap, which the benchmark of the
// controller measures.
func TestThousandConfigMapsGetANewCA(t *testing.T) {
	kit.Full(t)
	const namespaces, each = 10, 100 // the limit for a namespace
	own := map[string]bool{}
	var group errgroup.Group
	for range namespaces {
		namespace := lab.Namespace(t)
		own[namespace] = true
		group.Go(func() error {
			for i := range each {
				o := metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i), Namespace: namespace, Labels: map[string]string{injectLabel: "true"}}
				if err := lab.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: o}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	hashes := func(ctx context.Context) (map[string]int, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		err := lab.Client.List(ctx, list, client.MatchingLabels{injectLabel: "true"})
		found := map[string]int{}
		for i := range list.Items {
			if o := &list.Items[i]; own[o.Namespace] {
				found[o.Annotations["network.operator.openshift.io/trusted-ca-bundle-hash"]]++
			}
		}
		return found, err
	}
	all := func(not string) func(context.Context) error {
		return func(ctx context.Context) error {
			found, err := hashes(ctx)
			if err == nil && (len(found) != 1 || found[""] > 0 || found[not] > 0) {
				return fmt.Errorf("there are %v", found)
			}
			return err
		}
	}
	kit.Eventually(t, 2*time.Minute, "all have the trust bundle", all("none"))
	before, err := hashes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var old string
	for old = range before {
	}
	cm := userCA(t, newCA(t, "new"))
	begin := time.Now()
	setProxy(t, configv1.ProxySpec{TrustedCA: configv1.ConfigMapNameReference{Name: cm.Name}})
	kit.Eventually(t, 2*time.Minute, "all have the new CA", all(old))
	t.Logf("%d ConfigMaps have the new CA after %v", namespaces*each, time.Since(begin).Round(100*time.Millisecond))
}
