// Package furthernetworks reports what is wrong with definitions of further networks, and with policies on them, as soon as they are written.
//
// Input: NetworkAttachmentDefinitions, MultiNetworkPolicies, and what the daemons of nodes report on their own pods. Output: an event on each object
// that is wrong, once each time that what is wrong changes, and metrics of pods with further networks. It writes nothing else: a
// definition that no node can use may become right when a plugin is installed.
package furthernetworks

import (
	"context"
	"fmt"
	"strings"
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

	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// Name is the name of the controller in logs and events.
	Name = "furthernetworks"
	// retryFirst and retryLast are how soon a failed reconcile is repeated.
	retryFirst, retryLast = time.Second, 2 * time.Minute
	// maxNote is how long the note of an event may be.
	maxNote = 1000
)

var (
	kindDefinition = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}
	kindPolicy     = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1beta1", Kind: "MultiNetworkPolicy"}
)

// Controller is the controller. All exported fields must be set.
type Controller struct {
	// Namespace has the daemons of nodes: finding.Namespace.
	Namespace string
	// Enabled reports whether the cluster has multiple networks. If not, nothing is reported.
	Enabled func(context.Context) (bool, error)
	// Wake starts a reconcile.
	Wake    trigger.Trigger
	Metrics *Metrics
	Events  events.EventRecorder

	// reader reads from the manager's cache. setup sets it.
	reader client.Reader
	// read are the definitions as they were read last.
	read map[types.UID]known
	// reported is what was last reported of each object.
	reported map[types.UID]map[finding.Reason]string
}

// known is a definition in a version.
type known struct {
	version string
	finding.Checked
}

// Specs returns the controller as data.
func (c *Controller) Specs() []loop.Spec {
	return []loop.Spec{{
		Name: Name, Needs: []schema.GroupKind{kindDefinition.GroupKind(), kindPolicy.GroupKind()},
		Owns: map[client.Object]cache.ByObject{
			object(kindPolicy): {},
			&corev1.Pod{}:      {Namespaces: map[string]cache.Config{c.Namespace: {}}, Label: labels.SelectorFromSet(labels.Set{"app": finding.App}), Transform: onlyReport},
		},
		Setup: c.setup,
	}}
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// onlyReport drops what the controller does not read of pods.
func onlyReport(o any) (any, error) {
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

// Reconcile looks at everything once.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	enabled, err := c.Enabled(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read whether there are multiple networks: %w", err)
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
	read := make(map[types.UID]known, len(definitions.Items))
	for i := range definitions.Items {
		d := &definitions.Items[i]
		k, ok := c.read[d.GetUID()]
		if !ok || k.version != d.GetResourceVersion() {
			k = known{d.GetResourceVersion(), finding.ReadObject(d)}
		}
		read[d.GetUID()] = k
		c.report(d, k.Findings(nodes), before)
	}
	c.read = read
	for i := range policies.Items {
		p := &policies.Items[i]
		c.report(p, finding.ReadPolicy(p), before)
	}
	return reconcile.Result{}, nil
}

// nodes returns the reports of nodes, each once: while a daemon is replaced, a node may have two pods. Nodes that have not reported are
// none.
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

// report records what is wrong with an object, unless that was reported before. Findings of one reason are one event.
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
		note := finding.Finding{Reason: reason, Detail: texts[reason]}.Sentence()
		if len(note) > maxNote {
			note = strings.ToValidUTF8(note[:maxNote], "") + "..."
		}
		c.Events.Eventf(o, nil, corev1.EventTypeWarning, string(reason), "Check", "%s", note)
	}
}
