package operator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/networks/randomedittest"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// planner plans as `cno plan` does, as a client that the audit log distinguishes from others.
type planner struct {
	*cluster
	preview.Cluster
}

const plannerAgent = "planner-of-the-test"

func (c *cluster) planner() planner {
	c.t.Helper()
	config := rest.CopyConfig(c.Config)
	config.UserAgent = plannerAgent
	reached, err := preview.Open(config, operatorNamespace)
	if err != nil {
		c.t.Fatal(err)
	}
	return planner{c, reached}
}

func (p planner) plan(n *operatorv1.Network) preview.Result {
	p.t.Helper()
	state, _, err := p.State(p.t.Context(), facts.Cluster{})
	if err != nil {
		p.t.Fatal(err)
	}
	in := offline.Input{File: "-", Network: n}
	state.Input.Acknowledged = in.Acknowledged()
	answer, err := preview.Run(p.t.Context(), pipeline.Pipeline{Registry: networks.Registry()}, in, state)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// objects are all that the operator has made, with the number that grows with each change of what is wanted of one.
func (p planner) objects() map[manifest.Key]string {
	p.t.Helper()
	found := map[manifest.Key]string{}
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, {Group: "networkoperator.openshift.io", Version: "v1", Kind: "NetworkGuard"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := p.cluster.Client.List(p.t.Context(), list, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
			p.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetNamespace() == operatorNamespace {
				continue // its own records
			}
			version := o.GetResourceVersion()
			if g := o.GetGeneration(); g > 0 { // the status is not the operator's
				version = fmt.Sprint(g, o.GetAnnotations())
			}
			found[manifest.KeyOf(&o)] = version
		}
	}
	return found
}

// done returns what happened to objects, in the terms of a plan.
func done(before, after map[manifest.Key]string) map[string]string {
	all := map[string]string{}
	for key, version := range after {
		switch old, was := before[key]; {
		case !was:
			all[key.String()] = string(plan.Create)
		case old != version:
			all[key.String()] = string(plan.Apply)
		}
	}
	for key := range before {
		if _, is := after[key]; !is {
			all[key.String()] = string(plan.Delete)
		}
	}
	return all
}

// previewed is what a plan announces for objects. What is kept stays as it is.
func previewed(objects []preview.Object) map[string]string {
	all := map[string]string{}
	for _, o := range objects {
		if o.Action == plan.Keep {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
		all[manifest.Key{Group: gvk.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}.String()] = string(o.Action)
	}
	return all
}

// newPlanner plans for a cluster in which the operator has installed flannel.
func newPlanner(t testing.TB) planner {
	t.Helper()
	c := newCluster(t, apitest.Options{})
	c.createControlPlane()
	c.start(withRegistry(networks.Registry()), func(o *Options) {
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{operatorImage: "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}
	})
	c.create(newNetwork(func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork[0].CIDR, s.ClusterNetwork[0].HostPrefix = "10.244.0.0/16", 24
	}))
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("kube-proxy is applied", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}, &appsv1.DaemonSet{}) == nil
	})
	c.eventually("the network is recorded", c.recorded)
	return c.planner()
}

// TestPreviewMatchesTheOperator plans random edits, makes them, and compares what the operator does with what
// the plan announced: the decision, and every object that changes.
func TestPreviewMatchesTheOperator(t *testing.T) {
	const edits = 120
	p := newPlanner(t)
	c := p.cluster
	counts := map[preview.Decision]int{}
	for seed := range uint64(edits) {
		what, change := randomedittest.New(seed)
		c.eventually("the network settles before "+what, func() bool {
			c.endNamespaces()
			c.runWorkloads()
			c.answerProbes(1450)
			return len(p.plan(c.network()).Objects) == 0
		})
		next := c.network().DeepCopy()
		change(&next.Spec)
		answer := p.plan(next)
		counts[answer.Decision]++
		if answer.Decision == preview.NeedsAcknowledgement {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, pipeline.AcknowledgeAnnotation, answer.Acknowledgement)
		}
		before := p.objects()
		kept := c.network().DeepCopy()
		if err := c.Client.Patch(t.Context(), next, client.MergeFrom(kept)); err != nil {
			continue // the CRD refuses it
		}
		c.eventually(what+" is dealt with", func() bool {
			n := c.network()
			return n.Status.ObservedGeneration == n.Generation
		})
		applies := answer.Applies() || answer.Decision == preview.NeedsAcknowledgement
		degraded := c.condition("Degraded")
		if refused := degraded.Status == osv1.ConditionTrue && degraded.Reason == "InvalidOperatorConfig"; refused == applies {
			t.Fatalf("seed %d (%s): previewed: %s; degraded: %s %s", seed, what, answer.Decision, degraded.Status, degraded.Message)
		}
		if applies {
			want := previewed(answer.Objects)
			eventually.Holds(t, fmt.Sprintf("seed %d (%s): what is previewed is done (-previewed +done)", seed, what), func() (string, bool) {
				c.endNamespaces()
				c.runWorkloads()
				difference := cmp.Diff(want, done(before, p.objects()))
				return difference, difference == ""
			})
			continue
		}
		if did := done(before, p.objects()); len(did) > 0 {
			t.Fatalf("seed %d (%s): refused, and yet: %v", seed, what, did)
		}
		c.editSpec(func(s *operatorv1.NetworkSpec) { *s = kept.Spec })
		c.eventually("the refusal ends with the edit", func() bool { return !c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig")() })
	}
	t.Logf("%v", counts)
	for _, v := range []preview.Decision{preview.Safe, preview.Refused, preview.NeedsAcknowledgement, preview.Invalid} {
		if counts[v] < 3 {
			t.Errorf("%d of %d edits were %s: that proves little", counts[v], edits, v)
		}
	}
	c.planningChangedNothing()
}

// runWorkloads makes all workloads look as if their pods ran, since no kubelet runs here.
func (c *cluster) runWorkloads() {
	c.t.Helper()
	var sets appsv1.DaemonSetList
	var deployments appsv1.DeploymentList
	for _, list := range []client.ObjectList{&sets, &deployments} {
		if err := c.Client.List(c.t.Context(), list, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, d := range sets.Items {
		d.Status = appsv1.DaemonSetStatus{ObservedGeneration: d.Generation, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1, NumberReady: 1}
		c.setStatus(&d)
	}
	for _, d := range deployments.Items {
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		c.setStatus(&d)
	}
}

// setStatus writes a status, unless the object has changed meanwhile.
func (c *cluster) setStatus(o client.Object) {
	c.t.Helper()
	if err := c.Client.Status().Update(c.t.Context(), o); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		c.t.Fatal(err)
	}
}

// endNamespaces finalizes deleted namespaces, since no namespace controller runs here. One that has changed meanwhile is finalized by the next call.
func (c *cluster) endNamespaces() {
	c.t.Helper()
	var all corev1.NamespaceList
	if err := c.Client.List(c.t.Context(), &all); err != nil {
		c.t.Fatal(err)
	}
	for _, ns := range all.Items {
		if ns.DeletionTimestamp != nil {
			ns.Spec.Finalizers = nil
			if err := c.Client.SubResource("finalize").Update(c.t.Context(), &ns); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				c.t.Fatal(err)
			}
		}
	}
}

// planningChangedNothing looks for a request of the planner that could have.
func (c *cluster) planningChangedNothing() {
	c.t.Helper()
	n, dry := 0, 0
	for _, r := range c.Requests(c.t) {
		if r.UserAgent != plannerAgent {
			continue
		}
		n++
		switch {
		case !r.Writes():
		case strings.Contains(r.URI, "dryRun=All"):
			dry++
		default:
			c.t.Errorf("planning made the request %s %s", r.Verb, r.URI)
		}
	}
	if n == 0 || dry == 0 {
		c.t.Errorf("%d requests of the planner, %d of them dry runs", n, dry)
	}
}

// BenchmarkPlanOfOneChange plans the change of one field on a live cluster, as a command that has just started, and next to
// it does what shows as much without a plan: it reads every object of the network and has the API server merge it in a dry
// run, one after another.
func BenchmarkPlanOfOneChange(b *testing.B) {
	c := newPlanner(b).cluster
	next := c.network().DeepCopy()
	next.Spec.KubeProxyConfig = &osv1.ProxyConfig{IptablesSyncPeriod: "20s"}
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			if a := c.planner().plan(next); a.Decision != preview.Safe || len(a.Objects) == 0 {
				b.Fatalf("%s, %d objects", a.Decision, len(a.Objects))
			}
		}
	})
	b.Run("one-by-one", func(b *testing.B) {
		for b.Loop() {
			p := c.planner()
			records, err := p.Records(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range records.Inventory {
				o := &unstructured.Unstructured{}
				o.SetGroupVersionKind(schema.GroupVersionKind{Group: e.Key.Group, Version: e.Version, Kind: e.Key.Kind})
				if err := p.Cluster.Client.Get(b.Context(), client.ObjectKey{Namespace: e.Key.Namespace, Name: e.Key.Name}, o); err != nil {
					b.Fatal(err)
				}
				o.SetManagedFields(nil)
				if err := c.Client.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.ForceOwnership, client.FieldOwner("diff")); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
