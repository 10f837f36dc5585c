package furthernetworks

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/isolation"
)

// cluster is an API server with the controller, which the test runs explicitly.
type cluster struct {
	*apitest.Server
	*Controller
	t       *testing.T
	enabled bool
	events  []string
}

func (c *cluster) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	c.events = append(c.events, fmt.Sprintf("%s %s: %s", regarding.(client.Object).GetName(), reason, fmt.Sprintf(note, args...)))
}

// run reconciles once, and returns the events that were recorded.
func (c *cluster) run() []string {
	c.t.Helper()
	c.events = nil
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
	slices.Sort(c.events)
	return c.events
}

func (c *cluster) object(kind schema.GroupVersionKind, namespace, name string, annotations map[string]string, spec map[string]any) *unstructured.Unstructured {
	c.t.Helper()
	u := object(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetAnnotations(annotations)
	u.Object["spec"] = spec
	c.Create(c.t, u)
	return u
}

func (c *cluster) daemon(node, report string) *corev1.Pod {
	c.t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Controller.Namespace, Name: "multus-" + node, Labels: map[string]string{"app": finding.App}, Annotations: map[string]string{finding.Annotation: report}},
		Spec:       corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: new(int64(0)), Containers: []corev1.Container{{Name: "a", Image: "a:1"}}},
	}
	c.Create(c.t, p)
	return p
}

// values are the metrics, without the beginning of their names, with their labels.
func values(t *testing.T, registry *prometheus.Registry) (all []string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			all = append(all, fmt.Sprint(strings.TrimPrefix(f.GetName(), "network_attachment_definition_"), " ", m.Label[0].GetValue(), " ", m.Gauge.GetValue()))
		}
	}
	return all
}

// TestErrorsAreEventsOnTheObject covers the lifecycle of a definition and a policy, with a real API server.
func TestErrorsAreEventsOnTheObject(t *testing.T) {
	s := apitest.Borrow(t)
	c, registry := &cluster{Server: s, t: t, enabled: true}, prometheus.NewRegistry()
	c.Controller = &Controller{
		Namespace: s.Namespace(t), reader: s.Client, Metrics: NewMetrics(registry), Events: c, Log: slog.New(slog.DiscardHandler),
		Settings: func(context.Context) (bool, isolation.Rule, error) {
			return c.enabled, isolation.Rule{Enabled: true, Global: []string{"shared"}}, nil
		},
	}
	if err := c.Metrics.register(); err != nil {
		t.Fatal(err)
	}
	ns := s.Namespace(t)
	const macvlan = `{"type":"macvlan","master":"eth1"}`
	storage := c.object(kindDefinition, ns, "storage", nil, map[string]any{"config": macvlan})
	broken := c.object(kindDefinition, ns, "broken", nil, map[string]any{"config": "{\n  \"type\": \"multus-shim\"}"})
	c.object(kindPolicy, ns, "policy", map[string]string{"k8s.v1.cni.cncf.io/policy-for": "A!"}, map[string]any{"podSelector": map[string]any{}})
	want := func(why string, starts ...string) {
		t.Helper()
		got := c.run()
		if len(got) != len(starts) {
			t.Fatalf("%s: %q", why, got)
		}
		for i, s := range starts {
			if !strings.HasPrefix(got[i], s) {
				t.Errorf("%s: %q, want %q", why, got[i], s)
			}
		}
	}
	want("no node has reported; errors that do not depend on nodes are known",
		`broken InvalidNetworkAttachmentDefinition: spec.config.type: Invalid value: "multus-shim": cannot be used in a definition; name the plugin that makes the interface, at 2:3; pods that ask for the network do not start. To resolve, `,
		`policy InvalidMultiNetworkPolicy: metadata.annotations[k8s.v1.cni.cncf.io/policy-for][0]: Invalid value: "A!"`)
	want("nothing has changed")
	foreign := c.object(kindPolicy, ns, "other", map[string]string{"k8s.v1.cni.cncf.io/policy-for": "lan,shared/lan,bank/lan"}, map[string]any{"podSelector": map[string]any{}})
	want("a policy names a network that its pods cannot have",
		"other ForeignNetwork: metadata.annotations[k8s.v1.cni.cncf.io/policy-for][2]: Forbidden: the network bank/lan is in another namespace")
	if err := s.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	a, b := c.daemon("a", `{"missingInterfaces":["eth1"],"instances":{"any":2,"macvlan":2}}`), c.daemon("b", `{"instances":{"any":1,"bridge":1}}`)
	want("a node reports that it lacks the interface", `storage InterfaceMissing: spec.config: the interface "eth1" is missing on node a; `)
	if diff := cmp.Diff([]string{
		"enabled_instance_up any 1", "enabled_instance_up bridge 1", "enabled_instance_up macvlan 1", "enabled_instance_up sriov 0",
		"instances any 3", "instances bridge 1", "instances macvlan 2", "instances sriov 0",
	}, values(t, registry)); diff != "" {
		t.Error(diff)
	}
	b.Annotations[finding.Annotation] = `{"missingInterfaces":["eth1"],"missingPlugins":["macvlan"]}`
	if err := s.Client.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	want("another node lacks the plugin, too", `storage InterfaceMissing: spec.config: the interface "eth1" is missing on every node: a and b; `,
		`storage PluginMissing: spec.config: the CNI plugin "macvlan" is missing on node b; `)
	broken.Object["spec"] = map[string]any{"config": `{"type":"bridge"}`}
	storage.Object["spec"] = map[string]any{"config": `{"type": macvlan}`}
	for _, o := range []client.Object{broken, storage} {
		if err := s.Client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	want("one is corrected, the other one becomes invalid", `storage InvalidNetworkAttachmentDefinition: spec.config: Forbidden: is not valid JSON: invalid character 'm' looking for beginning of value, at 1:10, `)
	a.Annotations[finding.Annotation] = "{"
	if err := s.Client.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	c.enabled = false
	want("multiple networks are disabled")
	if left := values(t, registry); left != nil {
		t.Errorf("metrics are left: %q", left)
	}
	c.enabled = true
	want("... and enabled again: all is reported again", "policy InvalidMultiNetworkPolicy", "storage InvalidNetworkAttachmentDefinition")
}
