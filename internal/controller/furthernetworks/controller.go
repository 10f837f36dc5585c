// Package furthernetworks reports errors of NetworkAttachmentDefinitions, and of policies on their networks.
//
// Input: NetworkAttachmentDefinitions, MultiNetworkPolicies, and the reports of the nodes' daemons on their pods. Output: an event on each
// invalid object, once per change of its errors, and metrics of pods on further networks. Nothing else is written, since a definition may
// become valid when a plugin is installed.
package furthernetworks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs and events.
	Name = "furthernetworks"
	// retryFirst and retryLast are the first and the maximum delay before a failed reconcile is retried.
	retryFirst, retryLast = time.Second, 2 * time.Minute
)

var (
	kindDefinition = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}
	kindPolicy     = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1beta1", Kind: "MultiNetworkPolicy"}
)

// Controller is the controller. All exported fields must be set.
type Controller struct {
	// Namespace is the namespace of the nodes' daemons: finding.Namespace.
	Namespace string
	// Settings reports whether multiple networks are enabled, and the isolation of namespaces. If they are not, nothing is reported.
	Settings func(context.Context) (enabled bool, rule isolation.Rule, err error)
	// Wake starts a reconcile.
	Wake    trigger.Trigger
	Metrics *Metrics
	Events  events.EventRecorder
	Log     *slog.Logger

	// reader reads from the manager's cache. setup sets it.
	reader client.Reader
	// read are the last checked definitions.
	read map[types.UID]checkedDefinition
	// reported are the last reported errors by object.
	reported map[types.UID]map[finding.Reason]string
}

// checkedDefinition is the result of checking a version of a definition.
type checkedDefinition struct {
	version string
	finding.Checked
}

// Specs returns the specification of the controller.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{
		Name: Name, Needs: []schema.GroupKind{kindDefinition.GroupKind(), kindPolicy.GroupKind()},
		Owns: map[client.Object]cache.ByObject{
			object(kindPolicy): {},
			&corev1.Pod{}:      {Namespaces: map[string]cache.Config{c.Namespace: {}}, Label: labels.SelectorFromSet(labels.Set{"app": finding.App}), Transform: trim},
		},
		Setup: c.setup,
	}}
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// trim drops unused fields of pods.
func trim(o any) (any, error) {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	out := &corev1.Pod{TypeMeta: p.TypeMeta}
	out.Namespace, out.Name, out.UID, out.ResourceVersion, out.Labels = p.Namespace, p.Name, p.UID, p.ResourceVersion, p.Labels
	if text, set := p.Annotations[finding.Annotation]; set {
		out.Annotations = map[string]string{finding.Annotation: text}
	}
	out.Spec.NodeName = p.Spec.NodeName
	return out, nil
}

func (c *Controller) setup(mgr manager.Manager) error {
	if err := c.Metrics.register(); err != nil {
		return err
	}
	c.reader = mgr.GetCache()
	c.Wake.Fire()
	return loop.Add(mgr, Name, c.Reconcile, loop.Options{FirstRetry: retryFirst, LastRetry: retryLast}, c.Wake.Source(),
		loop.On(mgr, object(kindDefinition), loop.Once()), loop.On(mgr, object(kindPolicy), loop.Once()), loop.On(mgr, &corev1.Pod{}, loop.Once(), reportChanged()))
}

// Reconcile checks all objects.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	enabled, rule, err := c.Settings(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("check whether multiple networks are enabled: %w", err)
	}
	if !enabled {
		c.read, c.reported = nil, nil
		c.Metrics.forget()
		return reconcile.Result{}, nil
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.Metrics.set(nodes)
	definitions, policies := &unstructured.UnstructuredList{}, &unstructured.UnstructuredList{}
	for list, kind := range map[*unstructured.UnstructuredList]schema.GroupVersionKind{definitions: kindDefinition, policies: kindPolicy} {
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.reader.List(ctx, list); err != nil {
			return reconcile.Result{}, fmt.Errorf("list objects of kind %s: %w", kind.Kind, err)
		}
	}
	before := c.reported
	c.reported = map[types.UID]map[finding.Reason]string{}
	read := make(map[types.UID]checkedDefinition, len(definitions.Items))
	for i := range definitions.Items {
		d := &definitions.Items[i]
		k, ok := c.read[d.GetUID()]
		if !ok || k.version != d.GetResourceVersion() {
			k = checkedDefinition{d.GetResourceVersion(), finding.ReadObject(d)}
			if p := k.Panic; p != nil {
				c.Log.Error("panic while a NetworkAttachmentDefinition was checked", "definition", d.GetNamespace()+"/"+d.GetName(), "panic", p.Value, "stack", string(p.Stack))
			}
		}
		read[d.GetUID()] = k
		c.report(d, k.Findings(nodes), before)
	}
	c.read = read
	for i := range policies.Items {
		p := &policies.Items[i]
		c.report(p, finding.ReadPolicy(p, rule), before)
	}
	return reconcile.Result{}, nil
}

// nodes returns the reports of nodes, one per node, because a node has two pods while a daemon is replaced. Nodes without a report are
// omitted.
func (c *Controller) nodes(ctx context.Context) ([]finding.Node, error) {
	var pods corev1.PodList
	if err := c.reader.List(ctx, &pods, client.InNamespace(c.Namespace), client.MatchingLabels{"app": finding.App}); err != nil {
		return nil, fmt.Errorf("list the daemons of nodes: %w", err)
	}
	var nodes []finding.Node
	seen := map[string]bool{"": true}
	for _, p := range pods.Items {
		r, ok := finding.Decode(p.Annotations[finding.Annotation])
		if name := p.Spec.NodeName; ok && !seen[name] {
			seen[name] = true
			nodes = append(nodes, finding.Node{Name: name, Report: r})
		}
	}
	return nodes, nil
}

// report records the errors of an object as events, one per reason, unless they were reported before.
func (c *Controller) report(o *unstructured.Unstructured, found []finding.Finding, before map[types.UID]map[finding.Reason]string) {
	var order []finding.Reason
	texts := map[finding.Reason]string{}
	for _, f := range found {
		if _, ok := texts[f.Reason]; !ok {
			order = append(order, f.Reason)
		} else {
			f.Detail = texts[f.Reason] + "; " + f.Detail
		}
		texts[f.Reason] = f.Detail
	}
	if len(texts) > 0 {
		c.reported[o.GetUID()] = texts
	}
	for _, reason := range order {
		if before[o.GetUID()][reason] == texts[reason] {
			continue
		}
		note := phrase.Note(finding.Finding{Reason: reason, Detail: texts[reason]}.Message())
		c.Events.Eventf(o, nil, corev1.EventTypeWarning, string(reason), eventaction.Of("Check", note), "%s", note)
	}
}
