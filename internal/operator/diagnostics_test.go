package operator

import (
	"testing"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
)

const diagnosticsNamespace = "openshift-network-diagnostics"

// TestConnectivityIsCheckedOnceTheCRDIsServed starts without the kind, installs it, makes the endpoints that no one makes
// here, and turns it all off again, with no more permissions than the operator has.
func TestConnectivityIsCheckedOnceTheCRDIsServed(t *testing.T) {
	c := newClusterWithRoles(t)
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), withRegistry(networks.Registry()), func(o *Options) {
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}
	})
	c.create(newNetwork())
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("the status reports that there are no checks", c.is("NetworkDiagnosticsAvailable", "False", "NotServed"))
	c.Install(t, "podnetworkconnectivitychecks.controlplane.operator.openshift.io")
	exists := func(o client.Object) func() bool {
		return func() bool { return c.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil }
	}
	source := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: diagnosticsNamespace, Name: "network-check-source"}}
	c.eventually("sources are deployed", exists(source))
	c.eventually("targets are deployed", exists(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: diagnosticsNamespace, Name: "network-check-target"}}))
	if source.Spec.Template.Spec.Containers[0].Image != "o:v1" || *source.Spec.Replicas != 1 {
		t.Errorf("%d sources of image %s", *source.Spec.Replicas, source.Spec.Template.Spec.Containers[0].Image)
	}
	c.endpoint("network-check-source", 17698)
	c.endpoint("network-check-target", 8080)
	check := &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{ObjectMeta: metav1.ObjectMeta{
		Namespace: diagnosticsNamespace, Name: "network-check-source-cp-0-to-network-check-target-cp-0"}}
	c.eventually("the node is checked", exists(check))

	c.editSpec(func(s *operatorv1.NetworkSpec) { s.DisableNetworkDiagnostics = true })
	c.eventually("checks go", func() bool { return !exists(check)() })
	for _, r := range c.Requests(t) {
		if r.User.Username == "system:serviceaccount:"+operatorNamespace+":"+serviceAccount && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}

// endpoint makes the EndpointSlice of a service, with one pod on the control-plane node.
func (c *cluster) endpoint(service string, port int32) {
	c.t.Helper()
	node := "cp-0"
	c.create(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: diagnosticsNamespace, Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.128.0.9"}, NodeName: &node, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: service + "-x"}}},
	})
}
