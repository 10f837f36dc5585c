package operator

import (
	"strings"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/declared"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// kubeadm writes the configuration that kubeadm keeps, with networks of pods.
func (c *cluster) kubeadm(pods string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: declared.KubeadmNamespace, Name: declared.KubeadmName},
		Data:       map[string]string{declared.KubeadmKey: "networking: {podSubnet: " + pods + ", serviceSubnet: 10.96.0.0/16}\n"},
	}
}

// empty creates a Network with an empty specification, as a user writes it.
func (c *cluster) empty() error {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	u.SetName(operatorv1.NetworkName)
	return c.Client.Create(c.t.Context(), u)
}

// baseline returns the recorded configuration; nil if there is none.
func (c *cluster) baseline() *operatorv1.NetworkSpec {
	cm := c.configMap(operatorNamespace, applied.ConfigMapName)
	if cm == nil {
		return nil
	}
	record, err := applied.Decode(cm)
	if err != nil {
		c.t.Fatal(err)
	}
	return record.Baseline()
}

// TestEmptySpecificationUsesWhatTheClusterDeclares runs the operator with its own permissions.
func TestEmptySpecificationUsesWhatTheClusterDeclares(t *testing.T) {
	c := newClusterWithRoles(t)
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), withRegistry(networks.Registry()), func(o *Options) {
		o.Facts.APIServer = facts.HostPort{Host: "192.0.2.10", Port: 6443}
		o.Facts.Images = facts.Images{"": "${%s}", operatorImage: "o:v1"}
	})

	without := &unstructured.Unstructured{Object: map[string]any{}}
	without.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	without.SetName(operatorv1.NetworkName)
	if err := c.Client.Create(t.Context(), without, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "write spec: {}") {
		t.Errorf("a Network without spec: %v", err)
	}
	if err := c.empty(); err != nil {
		t.Fatal(err)
	}
	c.eventually("the pools of pods are missing", c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig"))
	message := c.condition("Degraded").Message
	for _, sentence := range []string{
		"spec.clusterNetwork: is required: the cluster does not declare it.", "The operator has looked for ConfigMap kube-system/kubeadm-config, key ClusterConfiguration, networking.podSubnet, and for --cluster-cidr",
		"Write at least 1 entry, e.g. cidr 10.128.0.0/14",
	} {
		if !strings.Contains(message, sentence) {
			t.Errorf("%q is not in %q", sentence, message)
		}
	}
	if strings.Contains(message, "serviceNetwork") || strings.Contains(message, "type-required") {
		t.Errorf("fields that are detected are refused: %s", message)
	}

	c.create(c.kubeadm("10.244.0.0/16"))
	c.showsSources(t)
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Debug }) // what declares addresses is not watched, but read once a minute
	c.eventually("the node is asked for its MTU", func() bool { return c.answerProbes(1450) == 1 })
	c.eventually("the configuration is recorded", func() bool { return c.baseline() != nil })
	got := c.baseline()
	if got.DefaultNetwork.Type != operatorv1.NetworkTypeOVNKubernetes || len(got.ClusterNetwork) != 1 || got.ClusterNetwork[0] != (operatorv1.ClusterNetworkEntry{CIDR: "10.244.0.0/16", HostPrefix: 24}) ||
		len(got.ServiceNetwork) != 1 || got.ServiceNetwork[0] != "10.96.0.0/16" {
		t.Errorf("%+v", got)
	}
	c.eventually("an event names the sources", func() bool {
		var list eventsv1.EventList
		if err := c.Client.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if e.Reason == "DefaultsDetected" && strings.Contains(e.Note, "spec.clusterNetwork: 10.244.0.0/16 (/24 a node) (from ConfigMap kube-system/kubeadm-config") &&
				strings.Contains(e.Note, "spec.serviceNetwork: 10.96.0.0/16 (from ServiceCIDR kubernetes)") {
				return true
			}
		}
		return false
	})

	// The record counts from now on.
	if err := c.Client.Update(t.Context(), c.kubeadm("10.200.0.0/16")); err != nil {
		t.Fatal(err)
	}
	c.editSpec(func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Normal })
	c.eventually("the edit is processed", func() bool {
		n := c.network()
		return n.Generation == n.Status.ObservedGeneration && c.baseline().LogLevel == osv1.Normal
	})
	if again := c.baseline(); again.ClusterNetwork[0] != got.ClusterNetwork[0] {
		t.Errorf("a later configuration of kubeadm changes the network: %+v", again.ClusterNetwork)
	}
	if c.is("Degraded", osv1.ConditionTrue, "InvalidOperatorConfig")() {
		t.Error(c.condition("Degraded").Message)
	}
	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	for _, r := range c.Requests(t) {
		if r.User.Username == user && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}

// showsSources checks that a plan names the sources.
func (c *cluster) showsSources(t *testing.T) {
	t.Helper()
	reader, err := preview.Open(c.Config, operatorNamespace)
	if err != nil {
		t.Fatal(err)
	}
	in, problems, err := offline.Files{Stdin: strings.NewReader("apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata: {name: cluster}\nspec: {}\n")}.Configuration([]string{"-"})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	state, _, err := reader.State(t.Context(), facts.Cluster{HostMTU: 1500})
	if err != nil {
		t.Fatal(err)
	}
	result, err := preview.Run(t.Context(), pipeline.Pipeline{Registry: networks.Registry()}, in, state)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := result.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Omitted fields:\n  spec.defaultNetwork.type: OVNKubernetes (from the default)\n", "  spec.clusterNetwork: 10.244.0.0/16 (/24 a node) (from " + declared.KubeadmPods + ")\n",
		"  spec.serviceNetwork: 10.96.0.0/16 (from ServiceCIDR kubernetes)\n", "Safe: ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the plan:\n%s", want, text.String())
		}
	}
}
