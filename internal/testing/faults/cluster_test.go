package faults_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/operator"
	"github.com/cluster-network-operator/cno/internal/testing/faults"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
)

const operatorNamespace = "openshift-network-operator"

// cluster is an API server with one node and the real networks to install.
type cluster struct {
	*apitest.Server
	testing.TB
	base  map[string]bool               // what exists before anything is installed
	kinds []schema.GroupVersionResource // what the API server can list and delete
}

// longest is how long a test may take before it shows what it waits for.
const longest = 4 * time.Minute

// newCluster makes a cluster on an API server that no other test uses meanwhile.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	goroutines.DumpAfter(t, longest)
	c := &cluster{Server: apitest.Borrow(t), TB: t}
	c.kinds = c.resources()
	c.base = c.existing()
	c.Cleanup(func() {
		if !c.Failed() {
			c.clear()
			c.forget()
		}
	})
	c.setUp()
	return c
}

// newClusterWith makes a cluster on an API server of its own.
func newClusterWith(t testing.TB, options apitest.Options) *cluster {
	t.Helper()
	goroutines.DumpAfter(t, longest)
	c := &cluster{Server: apitest.Start(t, options), TB: t}
	c.kinds = c.resources()
	c.setUp()
	return c
}

// setUp creates what the operator finds, and takes it for the base from now on. The other actors of the cluster start.
func (c *cluster) setUp() {
	c.Helper()
	before := c.base
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp-0", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}
	c.create(node)
	apitest.ChangeStatus(c, c.Client, node, func() {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}}
	})
	c.anotherProxy()
	c.base = c.existing()
	c.Cleanup(func() { c.base = before })
	c.kubelet()
}

// anotherProxy creates a kube-proxy of others, so that this operator's may be removed.
func (c *cluster) anotherProxy() {
	c.Helper()
	labels := map[string]string{"k8s-app": "kube-proxy"}
	c.create(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy", Labels: labels}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-proxy", Image: "kube-proxy:v1"}}}},
	}})
}

func (c *cluster) create(o client.Object) {
	c.Helper()
	if err := c.Client.Create(c.Context(), o); err != nil {
		c.Fatal(err)
	}
}

// process is an operator that runs.
type process struct {
	line *faults.Line
	end  func() error
}

// nodeDelay is the time for which changes are batched before objects of nodes are written. It is shorter than quiet: an operator that makes no call has nothing left to write.
const nodeDelay = 50 * time.Millisecond

// optionsFor are those of an operator whose calls go through a line.
func optionsFor(config *rest.Config, line *faults.Line, settings ...func(*operator.Options)) operator.Options {
	level := new(slog.LevelVar)
	var to io.Writer = io.Discard
	if flag.Parsed() && testing.Verbose() {
		to = os.Stderr
	}
	options := operator.Options{
		Config: rest.CopyConfig(config), Namespace: operatorNamespace, Registry: networks.Registry(), WithoutLease: true, NodeDelay: nodeDelay, Level: level,
		Facts: facts.Cluster{Platform: "None", ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "192.0.2.10", Port: 6443},
			Images: facts.Images{"NETWORK_OPERATOR_IMAGE": "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}},
		Log: slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level})),
	}
	for _, set := range settings {
		set(&options)
	}
	options.Config.Wrap(line.Wrap)
	return options
}

// start runs an operator whose calls go through a line. It ends with the test, if not before.
func (c *cluster) start(line *faults.Line, settings ...func(*operator.Options)) *process {
	c.Helper()
	options := optionsFor(c.Config, line, settings...)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- operator.Run(ctx, options) }()
	p := &process{line: line, end: sync.OnceValue(func() error { cancel(); return <-ended })}
	c.Cleanup(func() { _ = p.end() }) // a test that looks at the error has done so
	return p
}

// stop ends an operator in order.
func (c *cluster) stop(p *process) {
	c.Helper()
	if err := p.end(); err != nil && !errors.Is(err, context.Canceled) {
		c.Errorf("operator ended: %v", err)
	}
}

// eventually waits until a condition holds, and reports the state if it never does. It prints what it waits for when that
// takes long.
func (c *cluster) eventually(what string, wrong func() string) {
	c.Helper()
	started := time.Now()
	noted := started
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		last := wrong()
		if last == "" {
			return
		}
		if time.Since(started) > limit {
			c.Fatalf("not within %s: %s: %s", limit, what, last)
		}
		if time.Since(noted) > patience {
			noted = time.Now()
			c.Logf("%s: waiting for: %s: %s", time.Since(started).Round(time.Second), what, firstLine(last))
		}
		time.Sleep(wait)
	}
}

// limit is how long a condition may take, and patience how long nothing is printed about one that does not hold.
const limit, patience = 2 * time.Minute, 10 * time.Second

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

type spec = operatorv1.NetworkSpec

// newNetwork is a network without further networks of pods: their six CRDs cost the API server as much as all else together.
func newNetwork() *operatorv1.Network {
	return &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}, DisableMultiNetwork: new(true),
	}}
}

// configMap returns the data of one of the operator's ConfigMaps, nil if there is none.
func (c *cluster) configMap(name string) map[string]string {
	var cm corev1.ConfigMap
	if c.Client.Get(context.Background(), client.ObjectKey{Namespace: operatorNamespace, Name: name}, &cm) != nil {
		return nil
	}
	return cm.Data
}

// startedAgain is how long it takes until a process that has ended is started again.
const startedAgain = 200 * time.Millisecond

// hostPort reads the address of an API server.
func hostPort(host string) (facts.HostPort, error) {
	at, err := netip.ParseAddrPort(strings.TrimSuffix(strings.TrimPrefix(host, "https://"), "/"))
	return facts.HostPort{Host: at.Addr().String(), Port: int(at.Port())}, err
}

// startAgain runs an operator, once it finds the API server, and restarts it when it exits, as Kubernetes does: an API server that fails
// while it starts is a reason to end.
func (c *cluster) startAgain(line *faults.Line, settings ...func(*operator.Options)) *process {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	options := optionsFor(c.Config, line, settings...)
	at, err := hostPort(c.Config.Host)
	if err != nil {
		c.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		for ctx.Err() == nil {
			if _, err = operator.FindAPIServer(ctx, options.Config, []facts.HostPort{at}, options.Log); err == nil {
				err = operator.Run(ctx, options)
			}
			select {
			case <-ctx.Done():
			case <-time.After(startedAgain):
			}
		}
		ended <- err
	}()
	p := &process{line: line, end: sync.OnceValue(func() error { cancel(); return <-ended })}
	c.Cleanup(func() { _ = p.end() })
	return p
}

// withFurtherNetworks is the network with all that is deployed by default.
func withFurtherNetworks() *operatorv1.Network {
	n := newNetwork()
	n.Spec.DisableMultiNetwork = nil
	return n
}
