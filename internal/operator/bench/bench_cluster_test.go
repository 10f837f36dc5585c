package bench

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

const (
	namespace = "openshift-network-operator"
	account   = "cluster-network-operator"
	lease     = "network-operator-lock"
	// release and benchImage are the version of the operator that is measured, and the image of everything that it runs.
	release, benchImage = "v0.1.0-bench", "localhost/cno/bench:v0.1.0"
)

// imageVariables are the variables of the operator's environment that name the images which it runs.
var imageVariables = []string{"NETWORK_OPERATOR_IMAGE", "FLANNEL_IMAGE", "ETCD_IMAGE", "KUBE_PROXY_IMAGE"}

// cluster is an API server, the etcd that flannel uses, a stand-in for kubelets, and what an administrator who
// installs the operator makes.
type cluster struct {
	*apitest.Server
	// whole is the test or benchmark that the cluster is for. Parts of it come and go.
	whole           testing.TB
	dir, kubeconfig string
	// program is the operator, once it was started as a process.
	program string
	// live reads and watches past any cache.
	live    client.WithWatch
	kubelet *kubelet
	// etcd is the URL of flannel's etcd.
	etcd string
}

func newCluster(b testing.TB, size int) *cluster {
	b.Helper()
	c := &cluster{Server: apitest.Start(b, apitest.Options{Audit: true}), whole: b, dir: b.TempDir()}
	var err error
	if c.live, err = client.NewWithWatch(c.Config, client.Options{Scheme: c.Client.Scheme()}); err != nil {
		b.Fatal(err)
	}
	c.startEtcd(b)
	c.createAll(b, install(b))
	c.writeKubeconfig(b, c.ServiceAccount(b, namespace, account))
	c.createAll(b, makeNodes(size))
	c.kubelet = startKubelet(b, c.Config, size)
	return c
}

// install returns the operator's namespace and the objects of config/rbac.
func install(b testing.TB) []client.Object {
	b.Helper()
	root, err := apitest.RepositoryRoot()
	if err != nil {
		b.Fatal(err)
	}
	all := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}}
	shipped := os.DirFS(filepath.Join(root, "config", "rbac"))
	files, err := fs.Glob(shipped, "*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		if file == "kustomization.yaml" {
			continue
		}
		objects, err := manifest.DecodeAll(shipped, file)
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range objects {
			all = append(all, o.(client.Object))
		}
	}
	return all
}

// TestInstallIsComplete runs with the other tests, which start no benchmark: a file that install cannot read stops all benchmarks.
func TestInstallIsComplete(t *testing.T) {
	kinds := map[string]int{}
	for _, o := range install(t) {
		kinds[fmt.Sprintf("%T", o)]++
	}
	for _, kind := range []client.Object{&corev1.ServiceAccount{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.Role{}} {
		if kinds[fmt.Sprintf("%T", kind)] == 0 {
			t.Errorf("there is no %T in config/rbac: %v", kind, kinds)
		}
	}
}

// startEtcd starts the etcd in which flannel keeps subnets.
func (c *cluster) startEtcd(b testing.TB) {
	b.Helper()
	directory := os.Getenv("CNO_TEST_ASSETS")
	if directory == "" {
		root, err := apitest.RepositoryRoot()
		if err != nil {
			b.Fatal(err)
		}
		directory = filepath.Join(root, "_output", "lab", "bin")
	}
	c.etcd = "http://" + freeAddress(b)
	peers := "http://" + freeAddress(b)
	p := run(b, c.dir, nil, filepath.Join(directory, "etcd"), "--name=default", "--data-dir="+filepath.Join(c.dir, "etcd"),
		"--listen-client-urls="+c.etcd, "--advertise-client-urls="+c.etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers)
	p.ready = c.etcd + "/health"
	p.awaitReady(b)
}

// writeKubeconfig writes the configuration that the operator runs with: that of its service account.
func (c *cluster) writeKubeconfig(b testing.TB, config *rest.Config) {
	b.Helper()
	content := clientcmdapi.NewConfig()
	content.Clusters["bench"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}
	content.AuthInfos["bench"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	content.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "bench"}
	content.CurrentContext = "bench"
	c.kubeconfig = filepath.Join(c.dir, "operator.kubeconfig")
	if err := clientcmd.WriteToFile(*content, c.kubeconfig); err != nil {
		b.Fatal(err)
	}
}

// start starts the operator, with the arguments that it has in a cluster.
func (c *cluster) start(b testing.TB) *process {
	b.Helper()
	if c.program = cmp.Or(c.program, *program); c.program == "" {
		c.program = build(b, c.dir, "cluster-network-operator")
	}
	health := freeAddress(b)
	environ := []string{"RELEASE_VERSION=" + release}
	for _, name := range imageVariables {
		environ = append(environ, name+"="+benchImage)
	}
	p := run(c.whole, c.dir, environ, c.program, "start", "--kubeconfig="+c.kubeconfig,
		"--metrics-address="+freeAddress(b), "--health-address="+health)
	p.ready = "http://" + health + "/readyz"
	return p
}

// stop ends the operator as a kubelet does, and waits for its end.
func (p *process) stop() { p.end(syscall.SIGTERM) }

// newNetwork returns the network that is installed: flannel with an etcd that a third party runs, and kube-proxy.
func (c *cluster) newNetwork() *operatorv1.Network {
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	n.Spec.ClusterNetwork = []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/9", HostPrefix: 24}}
	n.Spec.ServiceNetwork = []string{"10.96.0.0/16"}
	n.Spec.DefaultNetwork.Type = operatorv1.NetworkTypeFlannel
	n.Spec.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{
		Etcd: &operatorv1.FlannelEtcd{External: &operatorv1.FlannelExternalEtcd{Endpoints: []string{c.etcd}}}}
	return n
}

func (c *cluster) network(b testing.TB) *operatorv1.Network {
	b.Helper()
	n := &operatorv1.Network{}
	if err := c.Client.Get(b.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, n); err != nil {
		b.Fatal(err)
	}
	return n
}

// settled waits until the operator reports the network as healthy, and a little longer, so that one
// measurement does not begin in the wake of another.
func (c *cluster) settled(b testing.TB) {
	b.Helper()
	eventually(b, "the network is settled", 20*time.Millisecond, func() bool {
		n := c.network(b)
		settled := n.Status.ObservedGeneration == n.Generation
		for _, have := range n.Status.Conditions {
			switch have.Type {
			case osv1.OperatorStatusTypeAvailable:
				settled = settled && have.Status == osv1.ConditionTrue
			case osv1.OperatorStatusTypeProgressing:
				settled = settled && have.Status == osv1.ConditionFalse
			}
		}
		return settled && len(n.Status.Conditions) > 0
	})
	time.Sleep(150 * time.Millisecond)
}
