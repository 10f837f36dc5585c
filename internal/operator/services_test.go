package operator

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// real are the networks that ship, with an image for each.
func real(o *Options) {
	o.Registry = networks.Registry()
	o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
	o.Facts.Images = facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}
}

// anotherProxy creates the kube-proxy of kubeadm, which serves Services.
func (c *cluster) anotherProxy() *appsv1.DaemonSet {
	c.t.Helper()
	labels := map[string]string{"k8s-app": "kube-proxy"}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy", Labels: labels}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-proxy", Image: "kube-proxy:v1"}}}},
	}}
	c.create(d)
	apitest.ChangeStatus(c.t, c.Client, d, func() { d.Status.DesiredNumberScheduled = 1 })
	return d
}

// installed starts an operator with the real networks, and waits until the network is applied.
func (c *cluster) installed() {
	c.t.Helper()
	c.createControlPlane()
	c.start(real)
	c.create(newNetwork())
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("the network is applied", c.recorded)
}

// accepted reports whether a specification without kube-proxy, or with it, is applied or being applied. Nothing is deleted
// here before the network works, which takes a kubelet.
func (c *cluster) accepted(proxy bool) func() bool {
	return func() bool {
		record := c.configMap(operatorNamespace, applied.ConfigMapName)
		return strings.Contains(cmp.Or(record["intent"], record["applied"]), fmt.Sprintf(`"deployKubeProxy":%t`, proxy))
	}
}

func TestKubeProxyIsRemovedOnlyWithAnAcknowledgementOrWhereAnotherServesServices(t *testing.T) {
	off := func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(false) }
	t.Run("acknowledged", func(t *testing.T) {
		c := newCluster(t, apitest.Options{})
		c.installed()
		planned := c.planner().plan(newNetwork(off))
		if planned.Decision != preview.NeedsAcknowledgement || planned.Acknowledgement == "" {
			t.Fatalf("the plan decides %s", planned.Decision)
		}
		c.editSpec(off)
		c.eventually("the edit is refused", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
		if message := c.condition("Degraded").Message; !strings.Contains(message, pipeline.RuleUnserved) || !c.accepted(true)() {
			t.Error(message)
		}
		c.acknowledge(planned.Acknowledgement)
		c.eventually("kube-proxy is to be removed", c.accepted(false))
		c.eventually("the condition reports that no component serves Services", c.is("ServicesDegraded", osv1.ConditionTrue, "ServicesUnserved"))
		c.editSpec(func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(true) })
		c.eventually("kube-proxy is back", c.accepted(true))
		c.eventually("and the condition has ended", func() bool { return c.condition("ServicesDegraded").Status != osv1.ConditionTrue })
	})
	t.Run("another one", func(t *testing.T) {
		c := newCluster(t, apitest.Options{})
		c.installed()
		c.anotherProxy()
		if planned := c.planner().plan(newNetwork(off)); planned.Decision != preview.Safe {
			t.Errorf("the plan decides %s: %+v", planned.Decision, planned.Errors)
		}
		c.editSpec(off)
		c.eventually("kube-proxy is to be removed", c.accepted(false))
		if c.is("ServicesDegraded", osv1.ConditionTrue, "")() {
			t.Error("the condition reports that no component serves Services")
		}
	})
}

// acknowledge annotates the network.
func (c *cluster) acknowledge(hash string) {
	c.t.Helper()
	n := c.network()
	apitest.Change(c.t, c.Client, n, func() { metav1.SetMetaDataAnnotation(&n.ObjectMeta, pipeline.AcknowledgeAnnotation, hash) })
}

func TestAServiceNetworkThatIsNotTheAPIServersIsRefusedAndCanBeCorrected(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	c.createControlPlane()
	c.start(real)
	c.create(newNetwork(func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = []string{"10.200.0.0/16"} }))
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("it is refused, and the true one is named", func() bool {
		have := c.condition("Degraded")
		return have.Reason == "InvalidOperatorConfig" && strings.Contains(have.Message, pipeline.RuleServiceCIDR) && strings.Contains(have.Message, "10.96.0.0/16")
	})
	if c.recorded() {
		t.Error("it is applied")
	}
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = []string{"10.96.0.0/16"} })
	c.eventually("the true one is applied", c.recorded)
	c.eventually("the refusal has ended", func() bool { return c.condition("Degraded").Reason != "InvalidOperatorConfig" })
}
