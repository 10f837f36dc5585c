package egressrouter

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	plugin "github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// cluster is an API server with a namespace and a controller, which reconciles only when the test calls run.
type cluster struct {
	*apitest.Server
	*Controller
	t         *testing.T
	namespace string
	events    *eventRecorder
	multus    bool
	now       time.Time
}

// eventRecorder collects events.
type eventRecorder struct{ events []string }

func (e *eventRecorder) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	if regarding.GetObjectKind().GroupVersionKind().Kind != "EgressRouter" {
		e.events = append(e.events, "an event about nothing")
	}
	e.events = append(e.events, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

// take returns the events since the last call.
func (e *eventRecorder) take() []string {
	events := e.events
	e.events = nil
	return events
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return newClusterOn(t, apitest.Shared(t))
}

func newClusterOn(t *testing.T, server *apitest.Server) *cluster {
	t.Helper()
	c := &cluster{Server: server, t: t, events: &eventRecorder{}, multus: true, now: time.Now()}
	c.namespace = c.Namespace(t)
	c.Controller = &Controller{
		Live: c.Client, Image: "egress-router-cni:v1", Version: "v1", Events: c.events, Metrics: NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler),
		Now:    func() time.Time { return c.now },
		Serves: func(gk schema.GroupKind) (bool, error) { return gk == KindAttachment && c.multus, nil },
		client: c.Client, memory: map[types.NamespacedName]*memory{},
	}
	reader := client.Reader(c.Client)
	c.attachments.Store(&attachments{Reader: reader})
	return c
}

func (c *cluster) router(name string, change ...func(*networkv1.EgressRouter)) *networkv1.EgressRouter {
	c.t.Helper()
	r := valid(name)
	r.Namespace, r.UID = c.namespace, ""
	for _, f := range change {
		f(r)
	}
	if err := c.Client.Create(c.t.Context(), r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *cluster) update(o client.Object) {
	c.t.Helper()
	if err := c.Client.Update(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

// run reconciles a router and reads it back.
func (c *cluster) run(r *networkv1.EgressRouter) reconcile.Result {
	c.t.Helper()
	key := client.ObjectKeyFromObject(r)
	result, err := c.Reconcile(c.t.Context(), reconcile.Request{NamespacedName: key})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.Client.Get(c.t.Context(), key, r); err != nil {
		c.t.Fatal(err)
	}
	return result
}

// conditionsText returns status and reason of the conditions.
func conditionsText(r *networkv1.EgressRouter) string {
	var all []string
	for _, condition := range r.Status.Conditions {
		all = append(all, string(condition.Type)+"="+string(condition.Status)+" "+condition.Reason)
	}
	return strings.Join(all, ", ")
}

func (c *cluster) want(r *networkv1.EgressRouter, conditions string) {
	c.t.Helper()
	if got := conditionsText(r); got != conditions {
		c.t.Errorf("got  %s\nwant %s\n%+v", got, conditions, r.Status.Conditions)
	}
	if r.Status.ObservedGeneration != r.Generation {
		c.t.Errorf("generation %d was observed, want %d", r.Status.ObservedGeneration, r.Generation)
	}
}

// names returns the Deployments and attachments of the namespace.
func (c *cluster) names() []string {
	c.t.Helper()
	var all []string
	for _, kind := range []schema.GroupVersionKind{kindDeployment, kindAttachment} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.Client.List(c.t.Context(), list, client.InNamespace(c.namespace)); err != nil {
			c.t.Fatal(err)
		}
		for i := range list.Items {
			all = append(all, list.Items[i].Name)
		}
	}
	slices.Sort(all)
	return all
}

func (c *cluster) wantNames(names ...string) {
	c.t.Helper()
	if diff := cmp.Diff(names, c.names()); diff != "" {
		c.t.Error(diff)
	}
}

func (c *cluster) deployment(name string) *appsv1.Deployment {
	c.t.Helper()
	d := &appsv1.Deployment{}
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, d); err != nil {
		c.t.Fatal(err)
	}
	return d
}

// rollOut makes a Deployment look as if its pod ran, with its addresses.
func (c *cluster) rollOut(name string) {
	c.t.Helper()
	d := c.deployment(name)
	r := &networkv1.EgressRouter{}
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: d.Annotations[annotationRouter]}, r); err != nil {
		c.t.Fatal(err)
	}
	c.pod(d, name+"-x", map[string]string{wire.AnnotationStatus: report(attachmentsOf(r)...)})
	generation := d.Generation
	d.Status = running().Status
	d.Status.ObservedGeneration = generation
	if err := c.Client.Status().Update(c.t.Context(), d); err != nil {
		c.t.Fatal(err)
	}
}

// pod creates a pod of a Deployment on a node.
func (c *cluster) pod(d *appsv1.Deployment, name string, annotations map[string]string) *corev1.Pod {
	c.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: d.Spec.Template.Labels, Annotations: annotations}}
	pod.Spec = *d.Spec.Template.Spec.DeepCopy()
	pod.Spec.NodeName = "node-1"
	if err := c.Client.Create(c.t.Context(), pod); err != nil {
		c.t.Fatal(err)
	}
	return pod
}

// report is what a node reports of a pod's networks.
func report(attachments ...attachment) string {
	all := []string{`{"name":"cbr0","interface":"eth0","ips":["10.244.1.2"],"default":true}`}
	for i, a := range attachments {
		all = append(all, fmt.Sprintf(`{"name":%q,"interface":"net%d","ips":[%q]}`, a.network, i+1, a.address))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func (c *cluster) config(name string) string {
	c.t.Helper()
	u := newAttachment()
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, u); err != nil {
		c.t.Fatal(err)
	}
	config, _, _ := unstructured.NestedString(u.Object, "spec", "config")
	return config
}

func TestRoutersOfOneNamespaceDoNotConflict(t *testing.T) {
	c := newCluster(t)
	a, b := c.router("a"), c.router("b", func(r *networkv1.EgressRouter) { r.Spec.Addresses[0].IP = "192.168.12.100/24" })
	c.run(a)
	c.want(a, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected")
	c.run(b)
	c.rollOut("egress-router-a")
	c.run(a)
	c.run(b)
	c.want(a, "Available=True AsExpected, Progressing=False AsExpected, Degraded=False AsExpected")
	c.want(b, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected")
	c.wantNames("egress-router-a", "egress-router-a-ipv4", "egress-router-b", "egress-router-b-ipv4")
	if !strings.Contains(c.config("egress-router-b-ipv4"), "192.168.12.100/24") || strings.Contains(c.config("egress-router-a-ipv4"), "192.168.12.100/24") {
		t.Error("one has the address of the other")
	}
	want := []string{"Normal Created: NetworkAttachmentDefinition egress-router-a-ipv4", "Normal Created: Deployment egress-router-a",
		"Normal Created: NetworkAttachmentDefinition egress-router-b-ipv4", "Normal Created: Deployment egress-router-b", "Normal Available: the router's pod is running and has its addresses"}
	if diff := cmp.Diff(want, c.events.take()); diff != "" {
		t.Error(diff)
	}
}

func TestASecondReconcileChangesNothing(t *testing.T) {
	c := newCluster(t)
	r := c.router("r")
	c.run(r)
	c.rollOut("egress-router-r")
	c.run(r)
	c.events.take()
	version, deployment := r.ResourceVersion, c.deployment("egress-router-r").ResourceVersion
	c.memory = map[types.NamespacedName]*memory{} // as after a restart
	c.now = c.now.Add(time.Hour)
	c.run(r)
	if r.ResourceVersion != version || c.deployment("egress-router-r").ResourceVersion != deployment {
		t.Error("something was written")
	}
	if events := c.events.take(); len(events) > 0 {
		t.Errorf("got events %q", events)
	}
}

func TestObjectsAreOwnedByTheRouter(t *testing.T) {
	c := newCluster(t)
	r := c.router("r")
	c.run(r)
	want := []metav1.OwnerReference{ownerOf(r)}
	if want[0].BlockOwnerDeletion != nil {
		t.Error("it needs permissions for finalizers")
	}
	if diff := cmp.Diff(want, c.deployment("egress-router-r").OwnerReferences); diff != "" {
		t.Error(diff)
	}
	u := newAttachment()
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "egress-router-r-ipv4"}, u); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, u.GetOwnerReferences()); diff != "" {
		t.Error(diff)
	}
}

func TestDriftIsRepaired(t *testing.T) {
	c := newCluster(t)
	r := c.router("r")
	c.run(r)
	for why, damage := range map[string]func(){
		"another image": func() {
			d := c.deployment("egress-router-r")
			d.Spec.Template.Spec.Containers[0].Image = "mine"
			c.update(d)
		},
		"no owner": func() {
			d := c.deployment("egress-router-r")
			d.OwnerReferences = nil
			c.update(d)
		},
		"labels removed, and with them the entry in the cache": func() {
			d := c.deployment("egress-router-r")
			d.Labels = nil
			c.update(d)
		},
		"another address": func() {
			u := newAttachment()
			if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "egress-router-r-ipv4"}, u); err != nil {
				t.Fatal(err)
			}
			u.Object["spec"] = map[string]any{"config": "{}"}
			c.update(u)
		},
		"deleted": func() {
			if err := c.Client.Delete(t.Context(), c.deployment("egress-router-r")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(why, func(t *testing.T) {
			c.events.take()
			damage()
			c.run(r)
			d := c.deployment("egress-router-r")
			if d.Spec.Template.Spec.Containers[0].Image != c.Image || !metav1.IsControlledBy(d, r) || d.Labels[LabelRouter] != "r" {
				t.Errorf("it is %+v", d.ObjectMeta)
			}
			if !strings.Contains(c.config("egress-router-r-ipv4"), "192.168.12.99/24") {
				t.Error("the address is another")
			}
			if events := c.events.take(); len(events) != 1 {
				t.Errorf("got events %q", events)
			}
		})
	}
}

func TestRemovedAddressRemovesItsAttachment(t *testing.T) {
	c := newCluster(t)
	r := c.router("r", func(r *networkv1.EgressRouter) {
		r.Spec.Addresses = append(r.Spec.Addresses, networkv1.EgressRouterAddress{IP: "2001:db8:c::99/64", Gateway: "fe80::1"})
	})
	c.run(r)
	c.wantNames("egress-router-r", "egress-router-r-ipv4", "egress-router-r-ipv6")
	r.Spec.Addresses = r.Spec.Addresses[:1]
	c.update(r)
	c.run(r)
	c.wantNames("egress-router-r", "egress-router-r-ipv4")
}

func TestWithoutMultusARouterWaits(t *testing.T) {
	c := newCluster(t)
	c.multus = false
	r := c.router("r")
	c.run(r)
	c.want(r, "Available=False WaitingForMultus, Progressing=True WaitingForMultus, Degraded=False AsExpected")
	c.wantNames()
	c.multus = true
	c.run(r)
	c.want(r, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected")
	c.wantNames("egress-router-r", "egress-router-r-ipv4")
}

// A pod without its second interface is no router, even if it runs.
func TestARouterIsAvailableOnlyWithItsAddress(t *testing.T) {
	c := newCluster(t)
	r := c.router("r")
	c.run(r)
	d := c.deployment("egress-router-r")
	pod := c.pod(d, "without", nil)
	d.Status = running().Status
	d.Status.ObservedGeneration = d.Generation
	if err := c.Client.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	c.run(r)
	c.want(r, "Available=False AddressMissing, Progressing=False AsExpected, Degraded=True AddressMissing")
	for _, words := range []string{"pod without on node node-1", "192.168.12.99", c.namespace + "/egress-router-r-ipv4", "delete the pod"} {
		if message := r.Status.Conditions[0].Message; !strings.Contains(message, words) {
			t.Errorf("%q does not contain %q", message, words)
		}
	}
	pod.Annotations = map[string]string{wire.AnnotationStatus: report(attachmentsOf(r)...)}
	c.update(pod)
	c.run(r)
	c.want(r, "Available=True AsExpected, Progressing=False AsExpected, Degraded=False AsExpected")
}

// Attach failures are only in the events of the pod; the newest counts.
func TestFailureToAttachThePodIsACondition(t *testing.T) {
	c := newCluster(t)
	r := c.router("r")
	c.run(r)
	pod := c.pod(c.deployment("egress-router-r"), "p", nil)
	c.run(r)
	c.want(r, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected")
	for i, f := range []plugin.Failure{plugin.NoMaster("the node has no interface eth7"), plugin.Taken(netip.MustParseAddr("192.168.12.99"), "this node")} {
		event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: fmt.Sprintf("p.%d", i)}}
		event.InvolvedObject = corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: c.namespace, Name: "p", UID: pod.UID}
		event.Reason, event.Message = "FailedCreatePodSandBox", "failed (add): "+f.String()
		event.LastTimestamp = metav1.NewTime(noon.Add(time.Duration(i) * time.Minute))
		if err := c.Client.Create(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		if result := c.run(r); result.RequeueAfter != eventsRetry {
			t.Errorf("looks again after %v", result.RequeueAfter)
		}
		c.want(r, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=True "+f.Reason)
		if want := "pod p on node node-1: " + f.Message; r.Status.Conditions[2].Message != want || r.Status.Conditions[0].Message != want {
			t.Errorf("%+v", r.Status.Conditions)
		}
	}
}

func TestWithoutAnImageARouterIsDegraded(t *testing.T) {
	c := newCluster(t)
	c.Image = ""
	r := c.router("r")
	c.run(r)
	c.want(r, "Available=False NoImage, Progressing=False NoImage, Degraded=True NoImage")
	want := []string{"Warning NoImage: the operator has no image for routers; set EGRESS_ROUTER_CNI_IMAGE for it"}
	if diff := cmp.Diff(want, c.events.take()); diff != "" {
		t.Error(diff)
	}
}

func TestAnObjectOfAnotherOwnerIsNotModified(t *testing.T) {
	c := newCluster(t)
	foreign := newAttachment()
	foreign.SetNamespace(c.namespace)
	foreign.SetName("egress-router-r-ipv4")
	foreign.Object["spec"] = map[string]any{"config": `{"type":"bridge"}`}
	if err := c.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	r := c.router("r")
	c.run(r)
	c.want(r, "Available=False NameTaken, Progressing=False NameTaken, Degraded=True NameTaken")
	if c.config("egress-router-r-ipv4") != `{"type":"bridge"}` {
		t.Error("it was changed")
	}
	if err := c.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	c.run(r)
	c.want(r, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected")
}

// No garbage is collected here, so that what the first router leaves behind stays as long as no one deletes it.
func TestARecreatedRouterReplacesTheObjectsOfTheFirst(t *testing.T) {
	c := newCluster(t)
	first := c.router("r")
	c.run(first)
	if err := c.Client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := c.router("r")
	for range 2 { // an attachment, a Deployment
		if result := c.run(second); result.RequeueAfter != waitingRetry {
			t.Errorf("looks again after %v", result.RequeueAfter)
		}
		c.want(second, "Available=False Replacing, Progressing=True Replacing, Degraded=False AsExpected")
	}
	c.run(second)
	c.want(second, "Available=False PodNotAvailable, Progressing=True Deploying, Degraded=False AsExpected")
	if !metav1.IsControlledBy(c.deployment("egress-router-r"), second) {
		t.Error("it is the first one's")
	}
}

func TestExceededQuotaIsAConditionOfTheRouter(t *testing.T) {
	c := newCluster(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{"count/deployments.apps": *newQuantity(0)}
	if err := c.Client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{"count/deployments.apps": *newQuantity(0)}
	if err := c.Client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	r := c.router("r")
	deadline := time.Now().Add(time.Minute) // the server reads quotas from a cache
	for result := c.run(r); result.RequeueAfter != rejectedRetry; result = c.run(r) {
		if time.Now().After(deadline) {
			t.Fatalf("never refused: %s", conditionsText(r))
		}
		if err := client.IgnoreNotFound(c.Client.Delete(t.Context(), c.deploymentOrNone("egress-router-r"))); err != nil {
			t.Fatal(err)
		}
	}
	c.want(r, "Available=False ApplyFailed, Progressing=False ApplyFailed, Degraded=True ApplyFailed")
	if message := r.Status.Conditions[2].Message; !strings.Contains(message, "exceeded quota: none") {
		t.Error(message)
	}
}

func (c *cluster) deploymentOrNone(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
}
