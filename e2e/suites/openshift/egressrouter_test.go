package openshift

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// routerImage is the variable of the operator's environment that names the image of routers.
const routerImage = "EGRESS_ROUTER_CNI_IMAGE"

// setEnvironment sets a variable of the operator until the test ends, or restore is called.
func setEnvironment(t *testing.T, name, value string) (restore func()) {
	t.Helper()
	set := func(ctx context.Context, variable string) error {
		_, err := lab.Kubectl(ctx, "-n", kit.OperatorNamespace, "set", "env", "deployment/"+kit.OperatorDeployment, variable)
		return err
	}
	if err := set(t.Context(), name+"="+value); err != nil {
		t.Fatal(err)
	}
	restore = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(set(ctx, name+"-"), kit.Poll(ctx, time.Minute, lab.OperatorRuns)); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restore)
	return restore
}

func createRouter(t *testing.T, namespace, name, ip string) *unstructured.Unstructured {
	t.Helper()
	r := routerWith(namespace, name, ip)
	if err := lab.Client.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func routerWith(namespace, name, ip string) *unstructured.Unstructured {
	r := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"addresses": []any{map[string]any{"ip": ip, "gateway": "192.168.12.1"}},
		// Inside the router's network, so that it starts without a gateway that answers.
		"redirect": map[string]any{"fallbackIP": "192.168.12.26"},
	}}}
	r.SetGroupVersionKind(schema.GroupVersionKind{Group: "network.operator.openshift.io", Version: "v1", Kind: "EgressRouter"})
	r.SetNamespace(namespace)
	r.SetName(name)
	return r
}

// routerSays checks a condition of a router.
func routerSays(r *unstructured.Unstructured, condition, status, reason string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		all, _, err := unstructured.NestedSlice(r.Object, "status", "conditions")
		for _, c := range all {
			if have, ok := c.(map[string]any); ok && have["type"] == condition && have["status"] == status && have["reason"] == reason {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("router %s has %v", r.GetName(), all))
	}
}

// routerRuns checks that a router has its address; where the cluster has no multiple networks, that its pod runs and lacks it.
func routerRuns(t *testing.T, r *unstructured.Unstructured) func(context.Context) error {
	t.Helper()
	daemon := &appsv1.DaemonSet{}
	err := lab.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-multus", Name: "multus"}, daemon)
	if apierrors.IsNotFound(err) {
		return routerSays(r, "Available", "False", "AddressMissing")
	}
	if err != nil {
		t.Fatal(err)
	}
	return routerSays(r, "Available", "True", "AsExpected")
}

// routerObjects lists the objects of routers in a namespace.
func routerObjects(ctx context.Context, namespace string) ([]string, error) {
	var names []string
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "DeploymentList"}, {Version: "v1", Kind: "PodList"},
		{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinitionList"},
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := lab.Client.List(ctx, list, client.InNamespace(namespace), client.HasLabels{"network.operator.openshift.io/egress-router"}); err != nil {
			return nil, err
		}
		for i := range list.Items {
			names = append(names, strings.TrimSuffix(kind.Kind, "List")+" "+list.Items[i].Name)
		}
	}
	return names, nil
}

// settled fails the test if routers have changed the status of the network.
func settled(t *testing.T) {
	t.Helper()
	kit.Eventually(t, time.Minute, "the network is settled", lab.Settled)
}

// Several routers of one namespace run and report it; an invalid one affects neither the others nor the cluster; deleted objects are
// recreated; and no object is left when the routers are deleted. The namespace has the strictest pod security.
func TestEgressRoutersOfANamespaceRunSideBySide(t *testing.T) {
	kit.Full(t)
	namespace := lab.Namespace(t)
	if _, err := lab.Kubectl(t.Context(), "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"); err != nil {
		t.Fatal(err)
	}
	restoreImage := setEnvironment(t, routerImage, "")
	a := createRouter(t, namespace, "a", "192.168.12.99/24")
	kit.Eventually(t, time.Minute, "a router reports that the operator has no image", routerSays(a, "Degraded", "True", "NoImage"))
	settled(t)
	restoreImage()
	if _, err := lab.Kubectl(t.Context(), "apply", "--server-side", "-f",
		filepath.Join(lab.Root, "internal/testing/openshift/thirdparty/network-attachment-definitions.k8s.cni.cncf.io.yaml")); err != nil {
		t.Fatal(err)
	}
	b := createRouter(t, namespace, "b", "192.168.12.100/24")
	for _, r := range []*unstructured.Unstructured{a, b} {
		kit.Eventually(t, 2*time.Minute, "a router runs", routerRuns(t, r))
		kit.Eventually(t, time.Minute, "its rollout ends", routerSays(r, "Progressing", "False", "AsExpected"))
	}

	if err := lab.Client.Create(t.Context(), routerWith(namespace, "c", "192.168.12")); !apierrors.IsInvalid(err) {
		t.Errorf("an incomplete address gives %v", err)
	}
	wrong := createRouter(t, namespace, "wrong", "192.168.12.255/24") // the broadcast address, which takes arithmetic to know
	kit.Eventually(t, time.Minute, "an invalid router reports its error", routerSays(wrong, "Degraded", "True", "InvalidSpec"))
	settled(t)
	for _, r := range []*unstructured.Unstructured{a, b} {
		if err := routerRuns(t, r)(t.Context()); err != nil {
			t.Error(err)
		}
	}

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "egress-router-a"}}
	if err := lab.Client.Delete(t.Context(), deployment, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the deleted objects are recreated", func(ctx context.Context) error {
		if err := lab.Client.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		return routerRuns(t, a)(ctx)
	})
	wantAddress(t, namespace, "a", "192.168.12.99/24")
	wantAddress(t, namespace, "b", "192.168.12.100/24")

	for _, r := range []*unstructured.Unstructured{a, b, wrong} {
		if err := lab.Client.Delete(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	kit.Eventually(t, time.Minute, "nothing is left", func(ctx context.Context) error {
		names, err := routerObjects(ctx, namespace)
		if len(names) > 0 {
			return fmt.Errorf("there are %v", names)
		}
		return err
	})
	settled(t)
}

// wantAddress checks that the pod of a router requests the attachment with its address.
func wantAddress(t *testing.T, namespace, router, ip string) {
	t.Helper()
	pods := &corev1.PodList{}
	if err := lab.Client.List(t.Context(), pods, client.InNamespace(namespace), client.MatchingLabels{"network.operator.openshift.io/egress-router": router}); err != nil {
		t.Fatal(err)
	}
	attachment := &unstructured.Unstructured{}
	attachment.SetGroupVersionKind(schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"})
	name := "egress-router-" + router + "-ipv4"
	if err := lab.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, attachment); err != nil {
		t.Fatal(err)
	}
	if config, _, _ := unstructured.NestedString(attachment.Object, "spec", "config"); !strings.Contains(config, `"addresses":["`+ip+`"]`) {
		t.Errorf("%s has %s", name, config)
	}
	for i := range pods.Items {
		if networks := pods.Items[i].Annotations["k8s.v1.cni.cncf.io/networks"]; !strings.Contains(networks, `"`+name+`"`) {
			t.Errorf("%s requests %s", pods.Items[i].Name, networks)
		}
	}
	if len(pods.Items) == 0 {
		t.Errorf("router %s has no pod", router)
	}
}
