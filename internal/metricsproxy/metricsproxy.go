// Package metricsproxy renders the DaemonSet that serves the metrics of a network's pods to Prometheus. Its pods are proxies on the host
// network. They serve metrics over TLS to authorized clients; the proxied pods serve them on the loopback address of their node without
// TLS and authorization.
//
// Proxies are separate pods, not containers of the pods whose metrics they serve: the failure of a proxy does not make these pods
// unready, and a change of the cluster's TLS profile does not restart the network.
package metricsproxy

import (
	"cmp"
	"embed"
	"fmt"
	"net/netip"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

//go:embed assets/*.yaml
var assets embed.FS

// labelApp is the label of pods by which Services and users name a workload, and by which ServiceMonitors find Services.
const labelApp = "app"

// The ports of nodes on which proxies serve, on all addresses. The first is the one that OpenShift uses for kube-proxy. All are among
// those that OpenShift's installations open between nodes (9000-9999).
const (
	KubeProxyPort     = 9102
	FlanneldPort      = 9109
	EtcdPort          = 9110
	OVNNodePort       = 9111 // of ovn-node
	OVNMasterPort     = 9112 // of ovn-master
	SDNNodePort       = 9101 // of OpenShift SDN's agents, as on OpenShift
	SDNControllerPort = 9106 // of its controllers, likewise
	MultusPort        = 9113 // of the daemons of further networks
	MultusDHCPPort    = 9114 // of their DHCP leases
	MultusPolicyPort  = 9115 // of their policies
	OVNIPsecPort      = 9116 // of ovn-ipsec
)

// Env has the environment variables that the operator sets in proxies.
func Env() []string {
	return []string{"GOMAXPROCS", facts.ServiceHostVariable, facts.ServicePortVariable}
}

// Endpoint is a workload on the nodes' network whose metrics are served.
type Endpoint struct {
	// App is the label app of its pods. It names the workload in the label job of the metrics.
	App string
	// Name names the workload in the label job instead, if it is not empty: for one of several containers of the pods.
	Name string
	// Port is the port of nodes on which its metrics are served over TLS.
	Port int32
	// Upstream is the address of nodes, a loopback one, on which the workload serves them.
	Upstream netip.AddrPort
}

// Options are the parameters of Objects. All fields are required, except the address of the API server in Env and TLS.
type Options struct {
	// Name is the name of the objects, and the label app of the proxies' pods.
	Namespace, Name string
	// Image is the operator's own image.
	Image string
	// Env has the address of the API server, because its Service may not work.
	Env       []corev1.EnvVar
	Endpoints []Endpoint
	// TLS has the settings of the cluster's TLS profile.
	TLS tlsprofile.Settings
}

// Objects returns the objects of the proxies, in the order in which to apply them. No other object depends on them.
func Objects(o Options) ([]manifest.Object, error) {
	out := manifest.List{Assets: assets, Policy: manifest.Policy{NonCritical: true}}
	manifest.AddAsset(&out, "serviceaccount", func(a *corev1.ServiceAccount) { o.name(&a.ObjectMeta) })
	manifest.AddAsset(&out, "clusterrolebinding", func(b *rbacv1.ClusterRoleBinding) {
		b.Name = ClusterRoleBinding(o.Name)
		b.Subjects[0].Name, b.Subjects[0].Namespace = o.Name, o.Namespace
	})
	for _, e := range o.Endpoints {
		manifest.AddAsset(&out, "service", func(s *corev1.Service) {
			name := cmp.Or(e.Name, e.App)
			s.Namespace, s.Name = o.Namespace, name+"-metrics"
			s.Labels = map[string]string{labelApp: name}
			s.Spec.Selector = map[string]string{labelApp: e.App}
			s.Spec.Ports[0].Port, s.Spec.Ports[0].TargetPort = e.Port, intstr.FromInt32(e.Port)
		})
	}
	manifest.AddAsset(&out, "daemonset", o.set)
	objects, err := out.Result()
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", o.Name, err)
	}
	return objects, nil
}

// ClusterRoleBinding is the name of the binding of proxies of a name.
func ClusterRoleBinding(name string) string { return "openshift-" + name }

func (o Options) name(m *metav1.ObjectMeta) { m.Namespace, m.Name = o.Namespace, o.Name }

func (o Options) set(d *appsv1.DaemonSet) {
	o.name(&d.ObjectMeta)
	labels := map[string]string{labelApp: o.Name}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	pod := &d.Spec.Template.Spec
	pod.ServiceAccountName = o.Name
	c := &pod.Containers[0]
	c.Image, c.Args = o.Image, []string{"metrics-proxy"}
	for _, e := range o.Endpoints {
		c.Args = append(c.Args, fmt.Sprintf("--endpoint=:%d=http://%s/metrics", e.Port, e.Upstream))
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: "port-" + strconv.Itoa(int(e.Port)), ContainerPort: e.Port, HostPort: e.Port})
	}
	c.Args = append(c.Args, o.TLS.Flags()...)
	c.Env = append(c.Env, o.Env...)
	if len(o.Endpoints) > 0 {
		port := intstr.FromInt32(o.Endpoints[0].Port)
		c.LivenessProbe.HTTPGet.Port, c.ReadinessProbe.HTTPGet.Port = port, port
	}
}
