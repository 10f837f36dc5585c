package hostnetworkconfig

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// cluster is an API server with a controller, which reconciles only when the test calls it.
type cluster struct {
	*apitest.Server
	*Controller
	t *testing.T
}

// definition is a CustomResourceDefinition that takes anything.
func definition(group, version, kind, plural string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
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

func openShift() apitest.Options {
	return apitest.Options{CRDs: []*apiextensionsv1.CustomResourceDefinition{
		definition(mcfgv1.GroupName, "v1", "MachineConfig", "machineconfigs", apiextensionsv1.ClusterScoped),
		definition(mcfgv1.GroupName, "v1", "MachineConfigPool", "machineconfigpools", apiextensionsv1.ClusterScoped),
		definition("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts", apiextensionsv1.NamespaceScoped),
	}}
}

func TestMain(m *testing.M) { apitest.Main(m, openShift()) }

// newCluster gives a test the server that all share, with nothing of another test on it. Plain is one without OpenShift's kinds,
// as far as the loop can see.
func newCluster(t *testing.T, plain bool) *cluster {
	t.Helper()
	server := apitest.Shared(t)
	c := &cluster{Server: server, t: t}
	c.Controller = &Controller{
		Client: server.Client, Live: server.Client, Image: "host-network:v1", Units: unitsOf("v1"), Version: "v1", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Serves: func(schema.GroupKind) (bool, error) { return !plain, nil },
	}
	for _, name := range []string{nodereport.Namespace, metal.Namespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := server.Client.Create(t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { c.clear() })
	return c
}

// clear removes all that a test can have made.
func (c *cluster) clear() {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	pool := &unstructured.Unstructured{}
	pool.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfigPool"))
	for _, o := range []client.Object{&networkv1.HostNetworkConfig{}, &corev1.Node{}, config, pool} {
		if err := c.Server.Client.DeleteAllOf(context.Background(), o); err != nil {
			c.t.Error(err)
		}
	}
	for _, o := range []client.Object{c.machine("", ""), &corev1.Secret{}} {
		if err := c.Server.Client.DeleteAllOf(context.Background(), o, client.InNamespace(metal.Namespace)); err != nil {
			c.t.Error(err)
		}
	}
	for _, o := range []client.Object{&corev1.ConfigMap{}, &appsv1.DaemonSet{}} {
		if err := c.Server.Client.DeleteAllOf(context.Background(), o, client.InNamespace(nodereport.Namespace)); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *cluster) create(o client.Object) {
	c.t.Helper()
	if err := c.Server.Client.Create(c.t.Context(), o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) node(name string, roles ...string) {
	c.t.Helper()
	labels := map[string]string{corev1.LabelHostname: name}
	for _, role := range roles {
		labels[rolePrefix+role] = ""
	}
	c.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

func (c *cluster) config(name, spec string) {
	c.t.Helper()
	config := &networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &config.Spec); err != nil {
		c.t.Fatal(err)
	}
	c.create(config)
}

func (c *cluster) edit(name string, change func(*networkv1.HostNetworkConfigSpec)) {
	c.t.Helper()
	config := c.get(name)
	change(&config.Spec)
	if err := c.Server.Client.Update(c.t.Context(), config); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) get(name string) *networkv1.HostNetworkConfig {
	c.t.Helper()
	var config networkv1.HostNetworkConfig
	if err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Name: name}, &config); err != nil {
		c.t.Fatal(err)
	}
	return &config
}

func (c *cluster) reconcile() reconcile.Result {
	c.t.Helper()
	result, err := c.Reconcile(c.t.Context(), reconcile.Request{})
	if err != nil {
		c.t.Fatal(err)
	}
	return result
}

// files returns those in the MachineConfig of a role; nil if there is none.
func (c *cluster) files(role string) placement.Files {
	c.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(mcfgv1.GroupVersion.WithKind("MachineConfig"))
	err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Name: machineconfig.Name(role)}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		c.t.Fatal(err)
	}
	var config mcfgv1.MachineConfig
	if err := json.Unmarshal(encoded, &config); err != nil {
		c.t.Fatal(err)
	}
	roles, err := machineconfig.Unpack([]mcfgv1.MachineConfig{config})
	if err != nil {
		c.t.Fatal(err)
	}
	return roles[role]
}

func (c *cluster) wantCondition(config, kind string, status metav1.ConditionStatus, reason, contains string) {
	c.t.Helper()
	condition := meta.FindStatusCondition(c.get(config).Status.Conditions, kind)
	if condition == nil || condition.Status != status || condition.Reason != reason || !strings.Contains(condition.Message, contains) {
		c.t.Errorf("%s of %s is %+v, want %s, %s, %q", kind, config, condition, status, reason, contains)
	}
}

func (c *cluster) report(node string, r nodereport.Report) {
	c.t.Helper()
	r.Node = node
	data, err := r.Encode()
	if err != nil {
		c.t.Fatal(err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: nodereport.Name(node), Namespace: nodereport.Namespace, Labels: map[string]string{nodereport.Label: ""}}, Data: data}
	err = c.Server.Client.Create(c.t.Context(), cm)
	if apierrors.IsAlreadyExists(err) {
		err = c.Server.Client.Update(c.t.Context(), cm)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

const twoMasters = `
role: master
phases: [PreBoot, FirstBoot]
bridge: {uplink: {interface: enp2s0}, ipv4: {method: Static, address: "${ip}", gateway: 192.168.111.1}, dnsServers: [192.168.111.1]}
hosts:
- {name: master-0, values: {ip: 192.168.111.110/24}}
- {name: master-1, bareMetalHost: ostest-master-1, values: {ip: 192.168.111.111/24}}
`

func (c *cluster) machine(name, secret string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"online": true}}}
	u.SetGroupVersionKind(machineKind())
	u.SetNamespace(metal.Namespace)
	u.SetName(name)
	if secret != "" {
		_ = unstructured.SetNestedField(u.Object, secret, "spec", "preprovisioningNetworkDataName")
	}
	return u
}

func (c *cluster) secretOf(machine string) string {
	c.t.Helper()
	u := c.machine(machine, "")
	if err := c.Server.Client.Get(c.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		c.t.Fatal(err)
	}
	name, _, _ := unstructured.NestedString(u.Object, "spec", "preprovisioningNetworkDataName")
	return name
}

func TestOnOpenShiftHostsGetSecretsAndMachineConfigsAndReportTheirState(t *testing.T) {
	c := newCluster(t, false)
	c.create(c.machine("master-0", ""))
	c.config("masters", twoMasters)
	if result := c.reconcile(); result.RequeueAfter != retryInterval {
		t.Errorf("a machine is awaited, and the next look is in %v", result.RequeueAfter)
	}
	if got := c.secretOf("master-0"); got != metal.SecretName("master-0") {
		t.Errorf("the machine names the Secret %q", got)
	}
	var secret corev1.Secret
	if err := c.Server.Client.Get(t.Context(), client.ObjectKey{Namespace: metal.Namespace, Name: metal.SecretName("ostest-master-1")}, &secret); err != nil {
		t.Fatal(err)
	}
	if text := string(secret.Data[metal.SecretKey]); strings.Contains(text, "ovs") || !strings.Contains(text, "192.168.111.111") {
		t.Errorf("the Secret has %s", text)
	}
	files := c.files("master")
	if len(files) != 2 || !strings.Contains(string(files[1].Content), "ovs-bridge") {
		t.Errorf("the MachineConfig has %d files", len(files))
	}
	c.wantCondition("masters", networkv1.ConditionValid, metav1.ConditionTrue, "AsExpected", "")
	c.wantCondition("masters", networkv1.ConditionRendered, metav1.ConditionTrue, "AsExpected", "")
	c.wantCondition("masters", networkv1.ConditionApplied, metav1.ConditionFalse, "NoNodes", "")
	if hosts := c.get("masters").Status.Hosts; len(hosts) != 2 || hosts[1].Result != networkv1.NoNode || !strings.Contains(hosts[1].Message, "no BareMetalHost ostest-master-1") {
		t.Errorf("hosts are %+v", hosts)
	}

	c.create(c.machine("ostest-master-1", ""))
	c.node("master-0", "master", "control-plane")
	c.node("master-1", "master")
	c.node("worker-0", "worker")
	c.report("master-0", nodereport.Report{Result: "applied", File: "master-0.yml", SHA256: digest(files[0].Content), Time: time.Now()})
	c.report("master-1", nodereport.Report{Result: "rolled-back", File: "master-1.yml", SHA256: digest(files[1].Content), Message: "the gateway did not answer", Time: time.Now()})
	c.reconcile()
	if got := c.secretOf("ostest-master-1"); got != metal.SecretName("ostest-master-1") {
		t.Errorf("the machine that came later names the Secret %q", got)
	}
	c.wantCondition("masters", networkv1.ConditionApplied, metav1.ConditionFalse, "NodesFailed", "1 of 2 nodes have applied their document; master-1: the gateway did not answer")
	c.report("master-1", nodereport.Report{Result: "unchanged", File: "master-1.yml", SHA256: digest(files[1].Content), Time: time.Now()})
	c.reconcile()
	c.wantCondition("masters", networkv1.ConditionApplied, metav1.ConditionTrue, "AsExpected", "2 of 2")
}

func TestAnErrorRemovesNothing(t *testing.T) {
	c := newCluster(t, false)
	c.node("master-0", "master")
	c.config("masters", twoMasters)
	c.reconcile()
	before := c.get("masters").Status
	c.edit("masters", func(s *networkv1.HostNetworkConfigSpec) { s.Hosts[1].Values["ip"] = s.Hosts[0].Values["ip"] })
	c.reconcile()
	c.wantCondition("masters", networkv1.ConditionValid, metav1.ConditionFalse, "Refused", "192.168.111.110 is the address of br-ex in master-0.yml")
	if len(c.files("master")) != 2 {
		t.Error("the MachineConfig was deleted")
	}
	after := c.get("masters").Status
	if len(after.Rendered) != len(before.Rendered) || after.Nodes != before.Nodes {
		t.Errorf("the status forgets what is in effect: %+v", after)
	}
	c.edit("masters", func(s *networkv1.HostNetworkConfigSpec) { s.Hosts = s.Hosts[:1] })
	c.reconcile()
	c.wantCondition("masters", networkv1.ConditionValid, metav1.ConditionTrue, "AsExpected", "")
	if files := c.files("master"); len(files) != 1 {
		t.Errorf("the host that was removed still has its file: %d", len(files))
	}
	if err := c.Server.Client.Get(t.Context(), client.ObjectKey{Namespace: metal.Namespace, Name: metal.SecretName("ostest-master-1")}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret of the host that was removed: %v", err)
	}
	if err := c.Server.Client.Delete(t.Context(), c.get("masters")); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	if c.files("master") != nil {
		t.Error("without the HostNetworkConfig the MachineConfig is still there")
	}
}

func TestTheOldestConfigComesFirst(t *testing.T) {
	config := func(name string, second int64) networkv1.HostNetworkConfig {
		return networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}}
	}
	configs := []networkv1.HostNetworkConfig{config("a", 3), config("c", 2), config("b", 2), config("z", 1)}
	slices.SortFunc(configs, byAge)
	var names []string
	for _, c := range configs {
		names = append(names, c.Name)
	}
	if want := []string{"z", "b", "c", "a"}; !slices.Equal(want, names) {
		t.Errorf("the order is %v, want %v", names, want)
	}
}

func TestRolesAreNotSharedAndAddressesNeither(t *testing.T) {
	c := newCluster(t, false)
	c.config("a", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.config("b", "role: worker\nbridge: {uplink: {interface: eno2}}")
	c.config("c", twoMasters)
	c.config("d", strings.Replace(twoMasters, "role: master", "role: infra", 1))
	c.reconcile()
	c.wantCondition("a", networkv1.ConditionValid, metav1.ConditionTrue, "AsExpected", "")
	c.wantCondition("b", networkv1.ConditionValid, metav1.ConditionFalse, "RoleTaken", "HostNetworkConfig a")
	c.wantCondition("c", networkv1.ConditionValid, metav1.ConditionTrue, "AsExpected", "")
	c.wantCondition("d", networkv1.ConditionValid, metav1.ConditionFalse, "Conflict", "192.168.111.110 is the address of")
	if c.files("infra") != nil {
		t.Error("what contradicts another is rendered")
	}
}

func TestOnPlainKubernetesASyncAgentCopiesTheFiles(t *testing.T) {
	c := newCluster(t, true)
	c.node("cp-0", "control-plane")
	c.node("w-0")
	c.config("workers", "role: worker\nbridge: {uplink: {interface: eno1}}")
	c.reconcile()
	var cm corev1.ConfigMap
	if err := c.Server.Client.Get(t.Context(), client.ObjectKey{Namespace: nodereport.Namespace, Name: "files-worker-0"}, &cm); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cm.Data["cluster.yml"], "ovs-bridge") {
		t.Errorf("the ConfigMap has %v", cm.Data)
	}
	var d appsv1.DaemonSet
	if err := c.Server.Client.Get(t.Context(), client.ObjectKey{Namespace: nodereport.Namespace, Name: "host-network-worker"}, &d); err != nil {
		t.Fatal(err)
	}
	container := d.Spec.Template.Spec.Containers[0]
	if container.Image != "host-network:v1" || !strings.Contains(strings.Join(container.Command, " "), "--to /host/etc/nmstate/openshift --from /files") {
		t.Errorf("the sync agent runs %v", container.Command)
	}
	status := c.get("workers").Status
	if status.Nodes != 1 || len(status.Hosts) != 1 || status.Hosts[0].Node != "w-0" || status.Hosts[0].Result != networkv1.Pending {
		t.Errorf("the status is %+v", status)
	}
	c.report("w-0", nodereport.Report{Delivery: "no space left on device"})
	c.reconcile()
	c.wantCondition("workers", networkv1.ConditionApplied, metav1.ConditionFalse, "NodesFailed", "no space left")
}

func TestNothingIsSentTwice(t *testing.T) {
	c := newCluster(t, false)
	c.create(c.machine("master-0", ""))
	c.config("masters", twoMasters)
	c.reconcile()
	version := c.get("masters").ResourceVersion
	counted := &counter{Client: c.Server.Client}
	c.Controller.Client = counted
	c.reconcile()
	if counted.applied > 0 || c.get("masters").ResourceVersion != version {
		t.Errorf("%d objects were applied again", counted.applied)
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: metal.Namespace, Name: metal.SecretName("master-0")}
	if err := c.Server.Client.Get(t.Context(), key, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[metal.SecretKey] = []byte("interfaces: []")
	if err := c.Server.Client.Update(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	if err := c.Server.Client.Get(t.Context(), key, &secret); err != nil || !strings.Contains(string(secret.Data[metal.SecretKey]), "enp2s0") {
		t.Errorf("the change of another client is not repaired: %v %s", err, secret.Data[metal.SecretKey])
	}
	if counted.applied != 1 {
		t.Errorf("%d objects were applied, one was changed", counted.applied)
	}
}

// counter counts what is applied.
type counter struct {
	client.Client
	applied int
}

func (c *counter) Apply(ctx context.Context, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	c.applied++
	return c.Client.Apply(ctx, o, options...)
}

func TestASecretNamedByAnotherClientIsNotModified(t *testing.T) {
	c := newCluster(t, false)
	c.create(c.machine("master-0", "my-own"))
	c.config("masters", twoMasters)
	c.reconcile()
	if got := c.secretOf("master-0"); got != "my-own" {
		t.Errorf("the machine names the Secret %q", got)
	}
	c.wantCondition("masters", networkv1.ConditionRendered, metav1.ConditionFalse, "ApplyFailed", "another field manager")
}

func TestPreBootWithoutMachinesIsReported(t *testing.T) {
	c := newCluster(t, true)
	c.config("masters", twoMasters)
	c.reconcile()
	c.wantCondition("masters", networkv1.ConditionRendered, metav1.ConditionFalse, "ApplyFailed", "BareMetalHosts are not available")
}

func TestAddressesAreNotSharedBeforeTheBoot(t *testing.T) {
	const before = `
role: ROLE
phases: [PreBoot]
hosts:
- {name: NAME, desiredState: {interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: ADDRESS, prefix-length: 24}]}}]}}
`
	spec := func(role, name, address string) string {
		return strings.NewReplacer("ROLE", role, "NAME", name, "ADDRESS", address).Replace(before)
	}
	c := newCluster(t, false)
	c.config("a", twoMasters)
	c.config("b", spec("worker", "worker-0", "192.168.111.120"))
	c.config("c", spec("infra", "infra-0", "192.168.111.120"))
	c.config("d", spec("storage", "storage-0", "192.168.111.111"))
	c.config("e", spec("gpu", "worker-0", "192.168.111.121"))
	c.reconcile()
	for _, name := range []string{"a", "b"} {
		c.wantCondition(name, networkv1.ConditionValid, metav1.ConditionTrue, "AsExpected", "")
	}
	c.wantCondition("c", networkv1.ConditionValid, metav1.ConditionFalse, "Conflict", "192.168.111.120 is the address of eno1 of")
	c.wantCondition("d", networkv1.ConditionValid, metav1.ConditionFalse, "Conflict", "192.168.111.111 is the address of br-ex in master-1.yml")
	c.wantCondition("e", networkv1.ConditionValid, metav1.ConditionFalse, "Conflict", "host worker-0 has a document before the boot of HostNetworkConfig b already")
}
