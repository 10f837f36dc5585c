package egressrouter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

func newQuantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.DecimalSI) }

// fixed makes what OpenShift's operator has made of a router.
func (c *cluster) fixed(owner *networkv1.EgressRouter) {
	c.t.Helper()
	label := map[string]string{"app": "egress-router-cni"}
	owners := []metav1.OwnerReference{ownerOf(owner)}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: fixedDeployment, Labels: label, OwnerReferences: owners}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: label}
	d.Spec.Template.Labels = label
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "egress-router-cni-pod", Image: "i"}}
	a := newAttachment()
	a.SetNamespace(c.namespace)
	a.SetName(fixedAttachment)
	a.SetOwnerReferences(owners)
	for _, o := range []client.Object{d, a} {
		if err := c.Client.Create(c.t.Context(), o); err != nil {
			c.t.Fatal(err)
		}
	}
}

func TestFixedNamesAreReplacedOnceTheNewObjectsExist(t *testing.T) {
	c := newCluster(t)
	a, b := c.router("a"), c.router("b")
	c.fixed(a)
	c.run(b)
	c.wantNames("egress-router-b", "egress-router-b-ipv4", fixedDeployment, fixedAttachment) // they are the other's
	c.Image = ""
	c.run(a)
	c.wantNames("egress-router-b", "egress-router-b-ipv4", fixedDeployment, fixedAttachment) // nothing exists yet
	c.Image = "i"
	c.run(a)
	c.wantNames("egress-router-a", "egress-router-a-ipv4", "egress-router-b", "egress-router-b-ipv4")
}

func TestARouterMayHaveTheFixedName(t *testing.T) {
	c := newCluster(t)
	r := c.router("cni-deployment")
	c.run(r)
	c.memory = map[types.NamespacedName]*memory{} // as after a restart
	c.run(r)
	c.wantNames(fixedDeployment, fixedDeployment+"-ipv4")
}

// TestOpenShiftCRDIsSufficient runs the controller with the CRD of OpenShift, which accepts invalid objects and has no observed
// generation, and then puts this project's in its place.
func TestOpenShiftCRDIsSufficient(t *testing.T) {
	foreign := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "egressrouters.network.operator.openshift.io"}}
	server := apitest.Start(t, apitest.Options{WithoutProjectCRDs: true, OpenShift: []string{foreign.Name, multus}})
	c := newClusterOn(t, server)
	good := c.router("good")
	bad := c.router("bad", func(r *networkv1.EgressRouter) { r.Spec.Addresses[0].IP = "1.2.3" })
	for range 2 {
		c.run(good)
		c.run(bad)
	}
	if got := conditionsText(good); got != "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected" {
		t.Error(got)
	}
	if got := bad.Status.Conditions[2].Message; !strings.HasPrefix(got, `spec.addresses[0].ip: Invalid value: "1.2.3": is not a CIDR`) {
		t.Error(got)
	}
	if !c.openShiftCRD {
		t.Error("that the definition drops a field was not seen, so that the status is written each time")
	}

	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, owned := range definitions {
		if owned.Name != foreign.Name {
			continue
		}
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(owned), foreign); err != nil {
			t.Fatal(err)
		}
		apitest.Change(t, server.Client, foreign, func() { foreign.Spec = owned.Spec })
	}
	// What was let pass before may be labelled, read and deleted; only an edit must make it right.
	bad.Labels = map[string]string{"a": "b"}
	if err := server.Client.Update(t.Context(), bad); err != nil {
		t.Error(err)
	}
	// The definition is in effect some moments after it was written.
	deadline := time.Now().Add(time.Minute)
	for i := 0; ; i++ {
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(bad), bad); err != nil {
			t.Fatal(err)
		}
		bad.Spec.Addresses[0].IP = fmt.Sprintf("1.2.%d", i)
		err := server.Client.Update(t.Context(), bad)
		if err != nil && strings.Contains(err.Error(), bad.Spec.Addresses[0].IP+`" is not a CIDR`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a mistake is let pass: %v", err)
		}
	}
}
