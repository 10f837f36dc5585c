package operator

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

// routerReason returns the reason of a condition of a router.
func (c *cluster) routerReason(namespace string, condition networkv1.EgressRouterStatusConditionType) string {
	var r networkv1.EgressRouter
	_ = c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: namespace, Name: "way-out"}, &r)
	for _, have := range r.Status.Conditions {
		if have.Type == condition {
			return have.Reason
		}
	}
	return ""
}

// TestEgressRoutersNeedNoMoreThanTheRoles runs the operator with the permissions that it ships with: a router waits for Multus, is created when
// Multus comes, is repaired, and gives up an address.
func TestEgressRoutersNeedNoMoreThanTheRoles(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), func(o *Options) {
		o.Facts.Images[egressRouterImage] = "egress-router-cni:v1"
	})
	shop := c.Namespace(t)
	router := &networkv1.EgressRouter{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "way-out"}}
	router.Spec.Mode = networkv1.EgressRouterModeRedirect
	router.Spec.NetworkInterface.Macvlan.Mode = networkv1.MacvlanModeBridge
	router.Spec.Addresses = []networkv1.EgressRouterAddress{{IP: "192.168.12.99/24", Gateway: "192.168.12.1"}, {IP: "2001:db8::99/64", Gateway: "fe80::1"}}
	router.Spec.Redirect = &networkv1.RedirectConfig{FallbackIP: "203.0.113.26"}
	c.create(router)
	c.eventually("it waits for Multus", func() bool { return c.routerReason(shop, networkv1.EgressRouterProgressing) == "WaitingForMultus" })

	c.Install(t, "network-attachment-definitions.k8s.cni.cncf.io")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "egress-router-way-out"}}
	exists := func() bool {
		return c.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment) == nil
	}
	c.eventually("it is made when Multus has come", exists)
	c.eventually("and reports it", func() bool { return c.routerReason(shop, networkv1.EgressRouterProgressing) == "Deploying" })

	if err := c.Client.Delete(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	c.eventually("deleted objects are recreated", exists)
	attachment := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "k8s.cni.cncf.io/v1", Kind: "NetworkAttachmentDefinition"}}
	attached := func(name string) bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: name}, attachment) == nil
	}
	if !attached("egress-router-way-out-ipv6") {
		t.Error("the IPv6 address has no attachment")
	}
	if err := c.Client.Delete(t.Context(), attachment); err != nil {
		t.Fatal(err)
	}
	c.eventually("so does an attachment", func() bool { return attached("egress-router-way-out-ipv6") })

	apitest.Change(t, c.Client, router, func() { router.Spec.Addresses = router.Spec.Addresses[:1] })
	c.eventually("the attachment of a removed address is deleted", func() bool { return !attached("egress-router-way-out-ipv6") })

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "p", Labels: deployment.Spec.Template.Labels, Annotations: deployment.Spec.Template.Annotations}}
	pod.Spec = deployment.Spec.Template.Spec
	pod.Spec.NodeName = "node-1" // whose answers are in the events of the pod, which the operator lists
	c.create(pod)
	apitest.ChangeStatus(t, c.Client, pod, func() {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "egress-router-cni-pod", Image: "i", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}
	})
	c.eventually("the condition names the problem of the pod", func() bool {
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(router), router); err != nil {
			t.Fatal(err)
		}
		return len(router.Status.Conditions) > 0 && strings.Contains(router.Status.Conditions[0].Message, "no such image")
	})
	refusal := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "p.1"}, Reason: "FailedCreatePodSandBox", LastTimestamp: metav1.Now()}
	refusal.InvolvedObject = corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: shop, Name: pod.Name, UID: pod.UID}
	refusal.Message = "failed (add): NoGateway: gateway 192.168.12.1 does not answer on the network of interface eth1 of the node"
	c.create(refusal)
	c.eventually("what its node answers is a condition", func() bool { return c.routerReason(shop, networkv1.EgressRouterDegraded) == "NoGateway" })
	c.eventually("there are events", func() bool {
		var events eventsv1.EventList
		if err := c.Client.List(t.Context(), &events, client.InNamespace(shop)); err != nil {
			t.Fatal(err)
		}
		recorded := map[string]bool{}
		for i := range events.Items {
			recorded[events.Items[i].Reason] = events.Items[i].Regarding.Kind == "EgressRouter" && events.Items[i].Regarding.UID == router.UID
		}
		return recorded["Created"] && recorded["WaitingForMultus"] && recorded["Deleted"]
	})
	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	for _, r := range c.Requests(t) {
		if r.User.Username == user && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}
