package ui

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/cli/doctor"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	operator = status.OperatorNamespace
	agents   = "openshift-flannel"
	users    = "shop"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{OpenShift: []string{"podnetworkconnectivitychecks.controlplane.operator.openshift.io"}})
}

// world is a cluster on a real API server, as the operator and the kubelets leave it: no controller runs there.
type world struct {
	t      testing.TB
	server *apitest.Server
	nodes  []string
}

// newWorld creates a healthy cluster: three nodes of the control plane and some workers.
func newWorld(t testing.TB, workers int) *world {
	t.Helper()
	w := &world{t: t, server: apitest.Shared(t)}
	for _, ns := range []string{operator, agents, connectivity.Namespace, users} {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		if err := w.server.Client.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		w.node(fmt.Sprintf("cp-%d", i), i, "control-plane")
	}
	for i := range workers {
		w.node(fmt.Sprintf("worker-%d", i), i+3, "")
	}
	w.network()
	w.operator()
	w.agents()
	w.checks()
	w.host()
	w.shop()
	return w
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	w.server.Create(w.t, o)
}

// update changes the status of an object.
func (w *world) update(o client.Object) {
	w.t.Helper()
	if err := w.server.Client.Status().Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) node(name string, i int, role string) {
	w.t.Helper()
	w.nodes = append(w.nodes, name)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: []string{fmt.Sprintf("10.244.%d.0/24", i)}, PodCIDR: fmt.Sprintf("10.244.%d.0/24", i)}}
	if role != "" {
		n.Labels = map[string]string{"node-role.kubernetes.io/" + role: ""}
	}
	w.create(n)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.168.0.%d", i+10)}}
	n.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: "v1.36.3", OSImage: "Debian GNU/Linux 12", KernelVersion: "6.1.0", ContainerRuntimeVersion: "containerd://2.1.4", Architecture: "amd64"}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastTransitionTime: metav1.Now()}}
	w.update(n)
}

// unplug makes a node one that does not answer.
func (w *world) unplug(name string) {
	w.t.Helper()
	var n corev1.Node
	if err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &n); err != nil {
		w.t.Fatal(err)
	}
	n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.", LastTransitionTime: metav1.Now()}
	w.update(&n)
	for _, source := range w.nodes[:3] {
		var c operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck
		key := client.ObjectKey{Namespace: connectivity.Namespace, Name: checkName(w.nodes, source, name)}
		if client.IgnoreNotFound(w.server.Client.Get(w.t.Context(), key, &c)) != nil || c.Name == "" {
			continue
		}
		c.Status.Conditions[0].Status, c.Status.Conditions[0].Reason = metav1.ConditionFalse, "TCPConnectError"
		c.Status.Conditions[0].Message = name + ": failed to establish a TCP connection to " + c.Spec.TargetEndpoint + ": dial tcp: i/o timeout"
		c.Status.Conditions[0].LastTransitionTime = metav1.Now()
		w.update(&c)
	}
}

// written is the specification as a user writes it.
func written(level osv1.LogLevel) *operatorv1.NetworkSpec {
	spec := &operatorv1.NetworkSpec{ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}
	spec.LogLevel = level
	return spec
}

// filled is the specification with every default.
func (w *world) filled(level osv1.LogLevel) *operatorv1.NetworkSpec {
	w.t.Helper()
	p := pipeline.Pipeline{Registry: networks.Registry()}
	known := facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v0.2.0", APIServer: facts.HostPort{Host: "192.168.0.10", Port: 6443}}
	res, err := p.Run(w.t.Context(), pipeline.Input{Desired: written(level), Cluster: known}, pipeline.Fill)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Spec
}

// network makes the Network and the records of two revisions, the second with less logging.
func (w *world) network() {
	w.t.Helper()
	now := time.Now()
	var record applied.Record
	var history applied.History
	for i, level := range []osv1.LogLevel{osv1.Debug, osv1.Normal} {
		snapshot, err := applied.NewSnapshot(w.filled(level))
		if err != nil {
			w.t.Fatal(err)
		}
		if record, err = record.Begin(applied.Start{Intent: snapshot, Number: i + 1, OperatorVersion: "v0.2.0", By: "kubectl-edit"}).MarkApplying(); err != nil {
			w.t.Fatal(err)
		}
		if record, _, err = record.MarkApplied(now.Add(time.Duration(i-2) * time.Hour)); err != nil {
			w.t.Fatal(err)
		}
		var revision applied.Revision
		if record, revision, err = record.MarkHealthy(now.Add(time.Duration(i-2) * time.Hour)); err != nil {
			w.t.Fatal(err)
		}
		history = history.Append(revision)
	}
	revisions, err := history.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	published, err := facts.Cluster{Platform: "None", HostMTU: 1500, ReleaseVersion: "v0.2.0", APIServer: facts.HostPort{Host: "192.168.0.10", Port: 6443}, Images: facts.Images{"": "registry.example/%s"}}.Publish()
	if err != nil {
		w.t.Fatal(err)
	}
	mtu := hostmtu.Record{Nodes: map[string]hostmtu.Node{}, Settled: 1500, First: now}
	for _, n := range w.nodes {
		mtu.Nodes[n] = hostmtu.Node{Mark: hostmtu.Mark(n), MTU: 1500}
	}
	links, err := mtu.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	for name, data := range map[string]map[string]string{
		applied.ConfigMapName: record.Encode(), applied.HistoryConfigMapName: revisions, facts.ConfigMapName: published, hostmtu.ConfigMap: links,
		status.ConfigMapName: {status.KeyVersions: `{"Flannel":"v0.2.0","KubeProxy":"v0.2.0"}`},
	} {
		w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operator, Name: name}, Data: data})
	}
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}, Spec: *written(osv1.Normal)}
	w.create(n)
	n.Status.ObservedGeneration, n.Status.Version = n.Generation, "v0.2.0"
	for _, name := range []string{"", "Flannel", "KubeProxy"} {
		for suffix, value := range map[string]osv1.ConditionStatus{"Available": "True", "Progressing": "False", "Degraded": "False"} {
			n.Status.Conditions = append(n.Status.Conditions, osv1.OperatorCondition{Type: name + suffix, Status: value, Reason: "AsExpected", LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))})
		}
	}
	w.update(n)
}

// condition changes conditions of the Network.
func (w *world) condition(value osv1.ConditionStatus, reason, message string, kinds ...string) {
	w.t.Helper()
	var n operatorv1.Network
	if err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, &n); err != nil {
		w.t.Fatal(err)
	}
	for i := range n.Status.Conditions {
		for _, kind := range kinds {
			if c := &n.Status.Conditions[i]; c.Type == kind {
				c.Status, c.Reason, c.Message, c.LastTransitionTime = value, reason, message, metav1.NewTime(time.Now().Add(-30*time.Second))
			}
		}
	}
	w.update(&n)
}

func (w *world) operator() {
	labels := map[string]string{"app": "network-operator"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operator, Name: "network-operator"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: template(labels)}}
	w.create(d)
	d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, ObservedGeneration: d.Generation}
	w.update(d)
	holder, at := "a", metav1.NewMicroTime(time.Now().Add(time.Hour)) // it stays fresh as long as the tests run
	w.create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator, Name: status.LeaseName}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at}})
}

func template(labels map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// agents makes the DaemonSet of the network, and its pods.
func (w *world) agents() {
	labels := map[string]string{"app": "flanneld"}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: agents, Name: "flanneld", Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(labels)}}
	w.create(d)
	for _, n := range w.nodes {
		w.agent(d, n)
	}
	w.rolledOut(int32(len(w.nodes)))
}

// rolledOut sets on how many nodes the newest revision of the agent runs.
func (w *world) rolledOut(done int32) {
	w.t.Helper()
	var d appsv1.DaemonSet
	if err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Namespace: agents, Name: "flanneld"}, &d); err != nil {
		w.t.Fatal(err)
	}
	total := int32(len(w.nodes))
	for i, n := range w.nodes {
		var p corev1.Pod
		if err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Namespace: agents, Name: "flanneld-" + n}, &p); err != nil {
			w.t.Fatal(err)
		}
		p.Labels["pod-template-generation"] = "0"
		if int32(i) < done {
			p.Labels["pod-template-generation"] = d.Annotations[appsv1.DeprecatedTemplateGeneration]
		}
		if err := w.server.Client.Update(w.t.Context(), &p); err != nil {
			w.t.Fatal(err)
		}
	}
	d.Status = appsv1.DaemonSetStatus{DesiredNumberScheduled: total, CurrentNumberScheduled: total, UpdatedNumberScheduled: done, NumberAvailable: total, NumberReady: total, ObservedGeneration: d.Generation}
	w.update(&d)
}

func (w *world) pod(namespace, name, node, ip string, labels map[string]string, host bool) {
	w.t.Helper()
	w.run(podOf(namespace, name, node, labels, host), ip)
}

func podOf(namespace, name, node string, labels map[string]string, host bool) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: node, HostNetwork: host, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// run makes a pod that is ready.
func (w *world) run(p *corev1.Pod, ip string) {
	w.t.Helper()
	zero := int64(0)
	p.Spec.TerminationGracePeriodSeconds = &zero
	if err := w.server.Client.Create(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = w.server.Client.Delete(context.Background(), p, client.GracePeriodSeconds(0))
	})
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}, PodIP: ip}
	if ip != "" {
		p.Status.PodIPs = []corev1.PodIP{{IP: ip}}
	}
	w.update(p)
}

// agent makes the pod of an agent on a node.
func (w *world) agent(d *appsv1.DaemonSet, node string) {
	p := podOf(agents, "flanneld-"+node, node, map[string]string{"app": "flanneld"}, true)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	p.Spec.Containers = []corev1.Container{
		{Name: "flanneld", Image: "registry.example/cno/flannel:v0.2.0", LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "127.0.0.1", Path: "/healthz", Port: intstr.FromInt32(19099)}}}},
		{Name: "metrics", Image: "registry.example/cno/operator:v0.2.0", Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9109}}},
	}
	w.run(p, "")
}

func checkName(nodes []string, source, target string) string {
	names := connectivity.NewNames(nodes)
	return names.Check(source, connectivity.TargetName+"-"+names.Of(target))
}

// checks makes connectivity checks from the first three nodes to all others.
func (w *world) checks() {
	for i, target := range w.nodes {
		for j, source := range w.nodes[:3] {
			if source == target {
				continue
			}
			c := &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{ObjectMeta: metav1.ObjectMeta{Namespace: connectivity.Namespace, Name: checkName(w.nodes, source, target)},
				Spec: operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckSpec{SourcePod: "network-check-source-" + source, TargetEndpoint: fmt.Sprintf("10.244.%d.2:8080", i)}}
			w.create(c)
			at := metav1.NewTime(time.Now().Add(-time.Hour))
			c.Status.Conditions = []operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckCondition{{Type: operatorcontrolplanev1alpha1.Reachable, Status: metav1.ConditionTrue, Reason: "TCPConnectSuccess", LastTransitionTime: at}}
			c.Status.Successes = []operatorcontrolplanev1alpha1.LogEntry{{Start: at, Success: true, Reason: operatorcontrolplanev1alpha1.LogEntryReasonTCPConnect, Latency: metav1.Duration{Duration: time.Duration(300+i*20+j*70) * time.Microsecond}}}
			w.update(c)
		}
	}
}

// host makes the configuration of hosts of the samples, and the reports of two hosts, one of which has restored its network.
func (w *world) host() {
	w.t.Helper()
	text, err := os.ReadFile("../../../config/samples/hostnetworkconfig-bond-vlan.yaml")
	if err != nil {
		w.t.Fatal(err)
	}
	o := &networkv1.HostNetworkConfig{}
	if err := yaml.UnmarshalStrict(text, o); err != nil {
		w.t.Fatal(err)
	}
	w.create(o)
	at := metav1.NewTime(time.Now().Add(-10 * time.Minute))
	o.Status.Hosts = []networkv1.HostStatus{
		{Name: "storage-0", Node: w.nodes[3], File: "storage-0.yml", Result: networkv1.RolledBack, Time: &at,
			Message: "verify: bond0: mtu is 1500, wanted 9000; eno3: ipv4 address is nothing, wanted 10.0.0.1/24; rolled back to the network as it was"},
		{Name: "storage-1", Node: w.nodes[4], File: "cluster.yml", Result: networkv1.Applied, Time: &at},
	}
	w.update(o)
}

// shop makes pods of users, one of which a policy isolates.
func (w *world) shop() {
	w.pod(users, "web", w.nodes[3], "10.244.3.7", map[string]string{"app": "web"}, false)
	w.pod(users, "job", w.nodes[4], "10.244.4.7", map[string]string{"app": "job"}, false)
	w.pod(users, "db", w.nodes[4], "10.244.4.8", map[string]string{"app": "db"}, false)
	w.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: users, Name: "db"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}},
	}})
}

// isolate makes a policy that denies all connections to pods with a label.
func (w *world) isolate(name, app string) {
	w.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: users, Name: name}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}})
}

// relabel changes the label of a pod of users.
func (w *world) relabel(name, app string) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: users, Name: name}}
	if err := w.server.Client.Patch(w.t.Context(), p, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"app":%q}}}`, app))); err != nil {
		w.t.Fatal(err)
	}
}

// enforce replaces the network by one that enforces policies.
func (w *world) enforce() {
	w.t.Helper()
	for _, o := range []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operator, Name: applied.ConfigMapName}}, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}} {
		if err := w.server.Client.Delete(w.t.Context(), o); err != nil {
			w.t.Fatal(err)
		}
	}
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}, Spec: *written(osv1.Normal)}
	n.Spec.DefaultNetwork.Type = operatorv1.NetworkTypeOVNKubernetes
	w.create(n)
}

// logLevel is that of the Network now.
func (w *world) logLevel() osv1.LogLevel {
	w.t.Helper()
	var n operatorv1.Network
	if err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, &n); err != nil {
		w.t.Fatal(err)
	}
	return n.Spec.LogLevel
}

// setLogLevel changes that of the Network as another client.
func (w *world) setLogLevel(level osv1.LogLevel) {
	w.t.Helper()
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	patch := fmt.Appendf(nil, `{"spec":{"logLevel":%q}}`, level)
	if err := w.server.Client.Patch(w.t.Context(), n, client.RawPatch(types.MergePatchType, patch)); err != nil {
		w.t.Fatal(err)
	}
}

// reader is the kubeconfig of a user who may read everything and change nothing.
func (w *world) reader() string { return w.user("reader", "*", "*") }

// user is the kubeconfig of a user who may read a resource in all namespaces and change nothing.
func (w *world) user(name, group, resource string) string {
	w.t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "ui-" + name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch"}}}}
	w.create(role)
	w.create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}})
	return w.kubeconfig(w.server.User(w.t, name))
}

// kubeconfig writes a configuration to a file.
func (w *world) kubeconfig(config *rest.Config) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file)
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

// archiveOf is an archive of cno doctor of the cluster.
func archiveOf(t *testing.T, w *world) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	cmd := doctor.New(networks.Registry(), time.Now)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(io.Discard)
	cmd.SetArgs([]string{"--kubeconfig", w.server.Kubeconfig, "--archive", file})
	if err := cmd.ExecuteContext(t.Context()); err != nil && exit.Report(io.Discard, "cno", err) != exit.Refused {
		t.Fatal(err)
	}
	return file
}
