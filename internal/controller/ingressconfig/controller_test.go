package ingressconfig

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/report"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{"ingresscontrollers.operator.openshift.io"}})
}

type cluster struct {
	*apitest.Server
	t    *testing.T
	loop *Controller
}

// newCluster makes the namespaces that are missing; they stay, since nothing empties a namespace here.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	server := apitest.Shared(t)
	for _, name := range []string{controllerNamespace, nodereport.Namespace} {
		if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	return &cluster{Server: server, t: t, loop: &Controller{Client: server.Client, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler)}}
}

// ingress makes an IngressController that reports how it is published.
func (c *cluster) ingress(name string, how osv1.EndpointPublishingStrategyType) *osv1.IngressController {
	c.t.Helper()
	i := &osv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: name}}
	c.Create(c.t, i)
	c.publish(i, how)
	return i
}

func (c *cluster) publish(i *osv1.IngressController, how osv1.EndpointPublishingStrategyType) {
	c.t.Helper()
	i.Status.EndpointPublishingStrategy = nil
	if how != "" {
		i.Status.EndpointPublishingStrategy = &osv1.EndpointPublishingStrategy{Type: how}
	}
	if err := c.Client.Status().Update(c.t.Context(), i); err != nil {
		c.t.Fatal(err)
	}
}

// labelled makes a pass and reports whether the namespace has both labels, or none.
func (c *cluster) labelled(want bool, when string) {
	c.t.Helper()
	if _, err := c.loop.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
	ns := c.namespace()
	_, ingress := ns.Labels[labelIngress]
	_, legacy := ns.Labels[labelLegacy]
	if ingress != want || legacy != want {
		c.t.Errorf("%s the labels are %v", when, ns.Labels)
	}
}

func (c *cluster) namespace() *corev1.Namespace {
	c.t.Helper()
	ns := &corev1.Namespace{}
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Name: nodereport.Namespace}, ns); err != nil {
		c.t.Fatal(err)
	}
	return ns
}

func TestNamespaceHasTheLabelsWhileAnyIngressControllerIsOnTheHostNetwork(t *testing.T) {
	c := newCluster(t)
	c.labelled(false, "without any")
	standard := c.ingress("default", osv1.LoadBalancerServiceStrategyType)
	c.labelled(false, "behind a load balancer")
	internal := c.ingress("internal", osv1.HostNetworkStrategyType)
	c.labelled(true, "with one that is not the default one")
	if got := c.namespace().Labels[labelLegacy]; got != "ingress" {
		t.Errorf("the value of the old label is %q", got)
	}
	c.publish(standard, osv1.HostNetworkStrategyType)
	c.publish(internal, osv1.PrivateStrategyType)
	c.labelled(true, "with the default one only")
	c.publish(standard, "")
	c.labelled(false, "when it no longer reports anything")
	c.publish(standard, osv1.HostNetworkStrategyType)
	c.labelled(true, "when it is back")
	if err := c.Client.Delete(t.Context(), standard); err != nil {
		t.Fatal(err)
	}
	c.labelled(false, "after the last one was deleted")
}

func TestALabelRemovedByAnotherClientIsRestored(t *testing.T) {
	c := newCluster(t)
	c.ingress("default", osv1.HostNetworkStrategyType)
	c.labelled(true, "at first")
	ns := c.namespace()
	apitest.Change(t, c.Client, ns, func() { delete(ns.Labels, labelIngress) }, client.FieldOwner("kubectl-label"))
	c.labelled(true, "later")
	version := c.namespace().ResourceVersion
	c.labelled(true, "without news")
	if c.namespace().ResourceVersion != version {
		t.Error("something was written without need")
	}
}

// TestLabelsOfAnEarlierOperatorAreRemovedAndThoseOfUsersKept: the one that OpenShift ships has patched labels in, under several names.
func TestLabelsOfAnEarlierOperatorAreRemovedAndThoseOfUsersKept(t *testing.T) {
	c := newCluster(t)
	set := func(manager string) {
		t.Helper()
		ns := c.namespace()
		apitest.Change(t, c.Client, ns, func() {
			if ns.Labels == nil {
				ns.Labels = map[string]string{}
			}
			ns.Labels[labelIngress], ns.Labels[labelLegacy] = "", valueLegacy
		}, client.FieldOwner(manager))
	}
	set("cluster-network-operator/ingressconfig_controller")
	c.labelled(false, "of an earlier operator")
	set("kubectl-label")
	c.labelled(true, "of a person")
	ns := c.namespace()
	apitest.Change(t, c.Client, ns, func() {
		delete(ns.Labels, labelIngress)
		delete(ns.Labels, labelLegacy)
	})
}

// failing answers reads of the namespace with an error.
type failing struct {
	client.Client
	err error
}

func (f failing) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if f.err != nil {
		return f.err
	}
	return f.Client.Get(ctx, key, o, options...)
}

func TestFailureIsReportedUntilItsCauseIsResolved(t *testing.T) {
	c := newCluster(t)
	broken := failing{c.Client, errors.New("no answer")}
	c.loop.Client = broken
	if _, err := c.loop.Reconcile(t.Context(), reconcile.Request{}); !errors.Is(err, broken.err) {
		t.Errorf("the pass ends with %v", err)
	}
	if found, _, _ := c.loop.Board.Snapshot(); len(found) != 1 || found[0].Component != "IngressConfig" || found[0].Reason != "IngressConfigError" {
		t.Errorf("findings are %v", found)
	}
	broken.err = nil
	c.loop.Client = broken
	c.labelled(false, "when it can be read again")
	if found, _, _ := c.loop.Board.Snapshot(); len(found) != 0 {
		t.Errorf("findings stay: %v", found)
	}
}

func TestMissingNamespaceIsNoError(t *testing.T) {
	server := apitest.Start(t, apitest.Options{OpenShift: []string{"ingresscontrollers.operator.openshift.io"}})
	loop := &Controller{Client: server.Client, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler)}
	if _, err := loop.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Error(err)
	}
	if found, _, _ := loop.Board.Snapshot(); len(found) != 0 {
		t.Errorf("findings are %v", found)
	}
}
