package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

func TestMain(m *testing.M) {
	sdn, err := crds.OpenShiftSDN()
	if err != nil {
		panic(err)
	}
	apitest.Main(m, apitest.Options{WithoutProjectCRDs: true, CRDs: sdn})
}

// world is an API server of its own with one instance of the controller.
type world struct {
	t      *testing.T
	server *apitest.Server
	api    client.Client
	core   kubernetes.Interface
	config controller.Config
	cancel context.CancelFunc
	done   chan error

	mu   sync.Mutex
	down map[netip.Addr]bool
}

// roles are all that the controller has in a cluster.
var roles = []string{"../assets/clusterrole-controller.yaml", "../assets/clusterrole-leader.yaml", "../assets/clusterrole-unidling.yaml"}

func newWorld(t *testing.T, mode agentconfig.Mode, change ...func(*controller.Config)) *world {
	t.Helper()
	w := &world{t: t, server: apitest.Borrow(t), down: map[netip.Addr]bool{}}
	known := runtime.NewScheme()
	err := errors.Join(scheme.AddToScheme(known), sdnv1.AddToScheme(known))
	if err != nil {
		t.Fatal(err)
	}
	if w.api, err = client.New(w.server.Config, client.Options{Scheme: known}); err != nil {
		t.Fatal(err)
	}
	if w.core, err = kubernetes.NewForConfig(w.server.Config); err != nil {
		t.Fatal(err)
	}
	network := agentconfig.Default()
	network.Mode, network.MTU = mode, 1450
	network.ClusterNetworks = []agentconfig.ClusterNetwork{{CIDR: netip.MustParsePrefix("10.128.0.0/14"), HostPrefix: 23}}
	network.ServiceNetwork = netip.MustParsePrefix("10.96.0.0/16")
	w.config = controller.Config{
		Kube: w.server.WithRoles(t, "default", "sdn-controller", roles...), Node: "control-plane", LeaseNamespace: "default", Network: network, Probe: w.probe,
		Log: slog.New(slog.NewTextHandler(output(), nil)),
	}
	for _, c := range change {
		c(&w.config)
	}
	t.Cleanup(w.clean)
	t.Cleanup(w.stop)
	w.start()
	return w
}

func output() io.Writer {
	if testing.Verbose() {
		return os.Stderr
	}
	return io.Discard
}

// probe answers for tunnel addresses that are not down.
func (w *world) probe(_ context.Context, a netip.Addr) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down[a] {
		return errors.New("no answer")
	}
	return nil
}

// power switches a node's tunnel address on or off.
func (w *world) power(node string, on bool) {
	w.t.Helper()
	a := netip.MustParsePrefix(w.subnet(node).Subnet).Addr().Next()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[a] = !on
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan error, 1)
	c := w.config
	c.Metrics = agent.NewMetrics("sdn_controller", "test")
	go func() { w.done <- controller.Run(ctx, c) }()
}

func (w *world) stop() {
	if w.cancel == nil {
		return
	}
	w.cancel()
	if err := <-w.done; err != nil {
		w.t.Error(err)
	}
	w.cancel = nil
}

// clean leaves the server as it was.
func (w *world) clean() {
	ctx := context.Background()
	for _, o := range []client.Object{&corev1.Node{}, &sdnv1.HostSubnet{}, &sdnv1.NetNamespace{}} {
		if err := w.api.DeleteAllOf(ctx, o); err != nil {
			w.t.Error(err)
		}
	}
	var all corev1.NamespaceList
	if err := w.api.List(ctx, &all); err != nil {
		w.t.Error(err)
	}
	for _, n := range all.Items {
		if n.Name != "default" && !strings.HasPrefix(n.Name, "kube-") {
			w.removeNamespace(n.Name)
		}
	}
	if err := w.api.DeleteAllOf(ctx, &eventsv1.Event{}, client.InNamespace("default")); err != nil {
		w.t.Error(err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) node(name, address string) *corev1.Node {
	w.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	w.must(w.api.Create(w.t.Context(), n))
	apitest.ChangeStatus(w.t, w.api, n, func() {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated"},
		}
	})
	return n
}

func (w *world) removeNode(name string) {
	w.t.Helper()
	w.must(w.api.Delete(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

func (w *world) namespace(name string) {
	w.t.Helper()
	w.must(w.api.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// removeNamespace deletes a namespace, and does the part of the namespace controller.
func (w *world) removeNamespace(name string) {
	w.t.Helper()
	ctx := context.Background()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := w.api.Delete(ctx, n); err != nil {
		w.t.Error(err)
		return
	}
	if err := w.api.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
		w.t.Error(err)
		return
	}
	n.Spec.Finalizers = nil
	if _, err := w.core.CoreV1().Namespaces().Finalize(ctx, n, metav1.UpdateOptions{}); err != nil {
		w.t.Error(err)
	}
}

// subnet waits for the HostSubnet of a node with a block.
func (w *world) subnet(name string) *sdnv1.HostSubnet {
	w.t.Helper()
	s := &sdnv1.HostSubnet{}
	eventually.Holds(w.t, "HostSubnet "+name+" has a block", func() (string, bool) {
		err := w.api.Get(w.t.Context(), client.ObjectKey{Name: name}, s)
		return fmt.Sprint(s, err), err == nil && s.Subnet != ""
	})
	return s
}

// netns waits for the NetNamespace of a namespace, without a request.
func (w *world) netns(name string) *sdnv1.NetNamespace {
	w.t.Helper()
	n := &sdnv1.NetNamespace{}
	eventually.Holds(w.t, "NetNamespace "+name+" is settled", func() (string, bool) {
		err := w.api.Get(w.t.Context(), client.ObjectKey{Name: name}, n)
		_, asks := n.Annotations[sdnv1.AnnotationChangeNetwork]
		return fmt.Sprint(n, err), err == nil && !asks
	})
	return n
}

// annotate has a NetNamespace ask for another VNID, and waits for the answer.
func (w *world) annotate(name, request string) *sdnv1.NetNamespace {
	w.t.Helper()
	n := w.netns(name)
	apitest.Change(w.t, w.api, n, func() { metav1.SetMetaDataAnnotation(&n.ObjectMeta, sdnv1.AnnotationChangeNetwork, request) })
	return w.netns(name)
}

// event waits for an event of an object.
func (w *world) event(name, reason, text string) {
	w.t.Helper()
	eventually.Holds(w.t, fmt.Sprintf("an event %s of %s has %q", reason, name, text), func() (string, bool) {
		var all eventsv1.EventList
		if err := w.api.List(w.t.Context(), &all); err != nil {
			return err.Error(), false
		}
		have := ""
		for _, e := range all.Items {
			have += fmt.Sprintf("%s %s: %s\n", e.Regarding.Name, e.Reason, e.Note)
			if e.Regarding.Name == name && e.Reason == reason && strings.Contains(e.Note, text) {
				return "", true
			}
		}
		return have, false
	})
}
