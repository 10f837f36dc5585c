package controller

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/flannel"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

const operatorNamespace = "openshift-network-operator"

// world is a cluster with a real API server, in which the test plays the operator's other loop, which applies what
// is rendered, and the kubelets of control-plane nodes, which run real etcd members on addresses of the loopback.
type world struct {
	t       *testing.T
	server  *apitest.Server
	api     client.Client
	loop    *Controller
	now     time.Time
	finding []status.Finding
	spec    operatorv1.NetworkSpec
	images  facts.Images
	// ports are those for clients, for peers and for probes.
	ports [3]uint32
	disks string
	// running are the members by node, started how often each was; nodes in off do not run.
	running map[string]*process
	started map[string]int
	off     map[string]bool
	// template is the hash of the pod template, by Deployment, that the last pod was started from.
	template map[string]string
	// quota is the size that databases may have, in bytes; 0 is etcdcluster.Quota.
	quota int
	// log has what members say.
	log *os.File
	// wrap, if set, stands between the loop and the world.
	wrap func(*Deps)
	// connection is the last one to etcd that the loop has opened.
	connection etcdclient.Etcd
}

// newWorld makes a world that no other test acts in at the same time. Worlds run beside one another: each waits for its members
// most of the time.
func newWorld(t *testing.T, config *operatorv1.FlannelConfig) *world {
	t.Helper()
	t.Parallel()
	server := apitest.Borrow(t)
	w := &world{
		t: t, server: server, api: server.Client, now: time.Now(), ports: freePorts(t), disks: t.TempDir(),
		running: map[string]*process{}, started: map[string]int{}, off: map[string]bool{}, template: map[string]string{},
		images: facts.Images{record.FlannelImage: "flannel:v1", record.EtcdImage: "etcd:v1"},
	}
	if config.Etcd == nil {
		config.Etcd = &operatorv1.FlannelEtcd{Managed: &operatorv1.FlannelManagedEtcd{ClientPort: &w.ports[0], PeerPort: &w.ports[1]}}
	}
	w.spec = operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel, FlannelConfig: config},
	}
	var err error
	if w.log, err = os.Create(filepath.Join(w.disks, "etcd.log")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{record.Namespace, operatorNamespace} {
		err := w.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
	}
	t.Cleanup(w.clear)
	w.restart()
	return w
}

// clear removes everything that a test has made, since another one gets the API server.
func (w *world) clear() {
	w.loop.Close()
	for node := range w.running {
		w.kill(node)
	}
	ctx := context.Background()
	for _, ns := range []string{record.Namespace, operatorNamespace} {
		for _, o := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &appsv1.Deployment{}} {
			if err := w.api.DeleteAllOf(ctx, o, client.InNamespace(ns)); err != nil {
				w.t.Error(err)
			}
		}
	}
	if err := w.api.DeleteAllOf(ctx, &corev1.Node{}); err != nil {
		w.t.Error(err)
	}
}

// restart is what happens to the loop when the operator is killed.
func (w *world) restart() {
	if w.loop != nil {
		w.loop.Close()
	}
	d := Deps{
		Client: w.api, Live: w.api, Namespace: operatorNamespace, Now: func() time.Time { return w.now }, Timeout: time.Second,
		Report: func(f ...status.Finding) { w.finding = f }, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	if w.wrap != nil {
		w.wrap(&d)
	}
	dial := d.Dial
	if dial == nil {
		dial = etcdclient.Dial
	}
	d.Dial = func(t etcdclient.Target) (etcdclient.Etcd, error) {
		etcd, err := dial(t)
		w.connection = etcd
		return etcd, err
	}
	w.loop = New(d)
}

// etcd is the connection that the controller uses.
func (w *world) etcd() etcdclient.Etcd { return w.connection }

// node creates a Node. Its number makes its address 127.0.1.number.
func (w *world) node(name string, number int, controlPlane bool) *corev1.Node {
	w.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	if err := w.api.Create(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address(number)}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := w.api.Status().Update(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func address(number int) string { return fmt.Sprintf("127.0.1.%d", number) }

func (w *world) removeNode(name string) {
	w.t.Helper()
	if err := w.api.Delete(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		w.t.Fatal(err)
	}
}

// turn lets everybody act once: the loop that renders, the kubelets, and this loop.
func (w *world) turn() {
	w.t.Helper()
	w.apply()
	w.kubelets()
	if _, err := w.loop.Reconcile(w.t.Context(), reconcile.Request{}); err != nil {
		w.t.Logf("pass: %v", err)
	}
}

// until takes turns until a condition holds.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	eventually.IsOrShow(w.t, 150*time.Second, what, func() bool {
		if condition() {
			return true
		}
		w.turn()
		return false
	}, func() string {
		said, _ := os.ReadFile(w.log.Name())
		return fmt.Sprintf("members: %+v; findings: %v; etcd said last:\n%s", w.members().Members, w.finding, said[max(0, len(said)-4000):])
	})
}

// apply does what the operator's other loop does with what is rendered: it applies ConfigMaps here, and Deployments
// by running them.
func (w *world) apply() {
	w.t.Helper()
	spec := flannel.New().Default(&w.spec, nil, facts.Cluster{HostMTU: 1500})
	renderer, err := flannel.New().Observe(w.t.Context(), w.api, spec)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := renderer.Render(spec, facts.Cluster{Images: w.images})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range out.Objects {
		switch o.Key().Kind {
		case "ConfigMap", "Deployment":
			if err := w.api.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(o.Object), client.FieldOwner("test"), client.ForceOwnership); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if out.Waiting != "" {
		return // what is not rendered is kept
	}
	w.prune(out.Objects)
}

func (w *world) members() etcdcluster.Membership {
	w.t.Helper()
	var cm corev1.ConfigMap
	err := w.api.Get(context.Background(), client.ObjectKey{Namespace: record.Namespace, Name: record.Etcd.MembersConfigMap()}, &cm)
	if err != nil {
		if client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		return etcdcluster.Membership{}
	}
	m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// voters returns the nodes of the members with a vote.
func (w *world) voters() []string {
	w.t.Helper()
	var out []string
	for _, m := range w.members().Members {
		if m.Votes() {
			out = append(out, m.Node)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) says(reason string) string {
	for _, f := range w.finding {
		if f.Reason == reason {
			return f.Message
		}
	}
	return ""
}

// given are the ports that worlds have got: between the search for a free one and the start of a member, another world must not
// find it.
var given struct {
	sync.Mutex
	ports map[uint32]bool
}

// freePorts returns ports that nothing listens on at any address that nodes may get, and that no other test has got.
func freePorts(t *testing.T) [3]uint32 {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[uint32]bool{}
	}
	var out [3]uint32
	for i := 0; i < len(out); {
		port, listeners := uint32(0), []net.Listener(nil)
		for number := 1; number < 10; number++ {
			l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address(number), port))
			if err != nil {
				port = 0
				break
			}
			listeners, port = append(listeners, l), uint32(l.Addr().(*net.TCPAddr).Port)
		}
		for _, l := range listeners {
			defer l.Close()
		}
		if port != 0 && !given.ports[port] {
			given.ports[port], out[i] = true, port
			i++
		}
	}
	return out
}

// etcdProgram returns the path of the etcd that tests run.
func etcdProgram(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CNO_TEST_ASSETS")
	if dir == "" {
		root, err := apitest.RepositoryRoot()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, "_output", "lab", "bin")
	}
	return filepath.Join(dir, "etcd")
}
