package operator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/hostsync"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// kindOfOthers is a CustomResourceDefinition of OpenShift, as far as the operator looks.
func kindOfOthers(group, version, kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	yes := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: scope, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural, ListKind: kind + "List", Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: version, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}}}},
		},
	}
}

func (c *cluster) createFile(path ...string) {
	c.t.Helper()
	root, err := apitest.RepositoryRoot()
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(append([]string{root}, path...)...)
	objects, err := manifest.DecodeAll(os.DirFS(filepath.Dir(file)), filepath.Base(file))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range objects {
		c.create(o.(client.Object))
	}
}

// TestHostNetworksNeedNoMoreThanTheRoles runs the operator on something like OpenShift with the permissions that it ships with, from
// a HostNetworkConfig to the objects of a machine that comes later, to the deletion of all of it.
func TestHostNetworksNeedNoMoreThanTheRoles(t *testing.T) {
	c := newCluster(t, apitest.Options{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		kindOfOthers("machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs", apiextensionsv1.ClusterScoped),
		kindOfOthers("machineconfiguration.openshift.io", "v1", "MachineConfigPool", "machineconfigpools", apiextensionsv1.ClusterScoped),
		kindOfOthers("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts", apiextensionsv1.NamespaceScoped),
	}})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "openshift-machine-api"}})
	c.createFile("config", "openshift", "machine-api.yaml")
	machine := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"online": true}}}
	machine.SetGroupVersionKind(schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"})
	machine.SetNamespace("openshift-machine-api")
	machine.SetName("master-0")
	c.create(machine)
	c.start(withConfig(c.ServiceAccount(t, operatorNamespace, serviceAccount)), func(o *Options) {
		o.Facts.Images[hostNetworkImage] = "host-network:v1"
	})
	c.createFile("config", "samples", "hostnetworkconfig-static.yaml")
	config := &networkv1.HostNetworkConfig{}
	c.eventually("everything is rendered", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Name: "master"}, config) == nil && meta.IsStatusConditionTrue(config.Status.Conditions, networkv1.ConditionRendered)
	})
	if len(config.Status.Rendered) != 4 {
		t.Errorf("rendered are %+v, want a MachineConfig, a DaemonSet and two Secrets", config.Status.Rendered)
	}
	c.eventually("the machine names its Secret", func() bool {
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); err != nil {
			t.Fatal(err)
		}
		name, _, _ := unstructured.NestedString(machine.Object, "spec", "preprovisioningNetworkDataName")
		return name == "master-0-network-config-secret"
	})
	apitest.Change(t, c.Client, config, func() {
		config.Spec.Applier = networkv1.ApplierHostNetwork
		config.Spec.Rollout = &networkv1.Rollout{Strategy: networkv1.RolloutLive}
	})
	program := &unstructured.Unstructured{}
	program.SetGroupVersionKind(schema.GroupVersionKind{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "MachineConfig"})
	c.eventually("the nodes get the program", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Name: "05-host-network-master"}, program) == nil
	})
	c.eventually("nodes can be asked to apply their documents", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: nodereport.Namespace, Name: nodereport.RequestsName("master")}, &corev1.ConfigMap{}) == nil
	})
	if err := c.Client.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	c.eventually("all of it is deleted", func() bool {
		err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-machine-api", Name: "master-0-network-config-secret"}, &corev1.Secret{})
		return apierrors.IsNotFound(err)
	})
	user := "system:serviceaccount:" + operatorNamespace + ":" + serviceAccount
	for _, r := range c.Requests(t) {
		if r.User.Username == user && denied(r) {
			t.Errorf("%s %s was answered %d", r.Verb, r.URI, r.Response.Code)
		}
	}
}

// TestSyncAgentReportsForItsOwnNodeOnly checks the policy that ships with the role of sync agents.
func TestSyncAgentReportsForItsOwnNodeOnly(t *testing.T) {
	c := newCluster(t, apitest.Options{})
	for _, o := range shippedRBAC(t) {
		c.create(o.(client.Object))
	}
	as := func(node string) hostsync.ConfigMaps {
		config := rest.CopyConfig(c.Config)
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + nodereport.Namespace + ":host-network",
			Groups:   []string{"system:serviceaccounts", "system:authenticated"},
			Extra:    map[string][]string{"authentication.kubernetes.io/node-name": {node}},
		}
		api, err := corev1client.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return hostsync.ConfigMaps{Client: api}
	}
	report := nodereport.Report{Node: "w-0", Result: "applied", Time: time.Now()}
	c.eventually("the policy is in effect", func() bool {
		return apierrors.IsInvalid(as("w-1").Publish(t.Context(), report)) || apierrors.IsForbidden(as("w-1").Publish(t.Context(), report))
	})
	for range 2 {
		if err := as("w-0").Publish(t.Context(), report); err != nil {
			t.Fatal(err)
		}
	}
	data := c.configMap(nodereport.Namespace, "report-w-0")
	if got, err := nodereport.Decode("report-w-0", data); err != nil || got.Result != "applied" {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := as("w-1").Publish(t.Context(), report); err == nil {
		t.Error("one node can report for another")
	}
}
