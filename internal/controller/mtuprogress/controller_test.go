package mtuprogress

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/report"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// network is one whose agents report by their pods.
type network struct {
	provider.Provider
	namespace string
}

func (network) Traits() provider.Traits {
	return provider.Traits{Type: "Reporting", MTUMigration: true}
}
func (network) PodMTU(*operatorv1.NetworkSpec) (mtu, own int) { return 1450, 50 }
func (network) MTUPath() *field.Path                          { return field.NewPath("spec", "mtu") }
func (n network) MTUAgents() provider.MTUAgents {
	return provider.MTUAgents{Component: "Reporting", Namespace: n.namespace, ConfigMap: "config", App: "agent"}
}

// cluster is a cluster with one node.
type cluster struct {
	*testing.T
	server *apitest.Server
	c      *Controller
	node   *corev1.Node
	config *corev1.ConfigMap
}

func newCluster(t *testing.T) *cluster {
	server := apitest.Shared(t)
	w := &cluster{T: t, server: server, node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}}
	namespace := server.Namespace(t)
	w.c = &Controller{
		Client: server.Client, Live: server.Client, Nodes: func(context.Context) ([]*corev1.Node, error) { return []*corev1.Node{w.node}, nil },
		Networks: []provider.MTUReporter{network{namespace: "none"}, network{namespace: namespace}}, Namespace: server.Namespace(t), Board: &report.Board{},
	}
	w.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "config"}}
	server.Create(t, w.config)
	return w
}

// record has the network's ConfigMap have a record; nil is none.
func (w *cluster) record(r *mtumigration.Record) {
	w.Helper()
	w.config.Data = nil
	if r != nil {
		text, err := json.Marshal(r)
		if err != nil {
			w.Fatal(err)
		}
		w.config.Data = map[string]string{mtumigration.RecordKey: string(text)}
	}
	if err := w.server.Client.Update(w.Context(), w.config); err != nil {
		w.Fatal(err)
	}
}

// reports has the agent's pod report a state.
func (w *cluster) reports(s mtumigration.State) {
	w.Helper()
	text, err := s.Encode()
	if err != nil {
		w.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.config.Namespace, GenerateName: "agent-", Labels: map[string]string{"app": "agent"}, Annotations: map[string]string{mtumigration.Annotation: text}},
		Spec:       corev1.PodSpec{NodeName: "a", Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
	}
	// No kubelet ends the pod after the test.
	if err := w.server.Client.Create(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := w.server.Client.Status().Update(w.Context(), pod); err != nil {
		w.Fatal(err)
	}
}

// reconcile returns what is published, the reasons that are reported, and when the controller looks again.
func (w *cluster) reconcile() (facts.MTUMigration, string, time.Duration) {
	w.Helper()
	result, err := w.c.Reconcile(w.Context(), reconcile.Request{})
	if err != nil {
		w.Fatal(err)
	}
	found, _, _ := w.c.Board.Snapshot()
	var reasons []string
	for _, f := range found {
		reasons = append(reasons, f.Reason)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.c.Namespace, Name: facts.MTUMigrationConfigMap}}
	if err := w.server.Client.Get(w.Context(), client.ObjectKeyFromObject(cm), cm); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return facts.DecodeMTUMigration(cm.Data), strings.Join(reasons, " "), result.RequeueAfter
}

func TestTheProgressOfNodesIsPublishedAndWithdrawn(t *testing.T) {
	w := newCluster(t)
	if progress, reasons, again := w.reconcile(); progress.Active || reasons != "" || again != 0 {
		t.Errorf("without a change: %+v, %s, again after %s", progress, reasons, again)
	}
	object := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}}, ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: "Reporting"},
		Migration:      &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: new(uint32(1450)), To: new(uint32(1400))}}},
	}}
	w.server.Create(t, object)
	if progress, reasons, again := w.reconcile(); progress.Active || reasons != "" || again != pollInterval {
		t.Errorf("it is announced: %+v, %s, again after %s", progress, reasons, again)
	}

	change := mtumigration.Change{From: 1450, To: 1400, Announced: true}
	between, last := mtumigration.State{MTU: 1450, Step: 1, RoutableMTU: 1400}, mtumigration.State{MTU: 1400, Step: 2}
	w.record(&mtumigration.Record{State: between, Change: change})
	if progress, reasons, again := w.reconcile(); !progress.Active || progress.Done || reasons != "MTUMigrationRouting MTUMigrationRouting" || again != pollInterval {
		t.Errorf("no agent reports: %+v, %s, again after %s", progress, reasons, again)
	}
	w.reports(between)
	if progress, _, _ := w.reconcile(); !progress.Done || progress.Step != 1 || progress.RoutableMTU != 1400 {
		t.Errorf("the agent reports: %+v", progress)
	}
	if err := w.server.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(w.config.Namespace), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.record(&mtumigration.Record{State: last, Change: change})
	w.reports(last)
	if progress, reasons, again := w.reconcile(); !progress.Reached(1400) || reasons != "MTUMigrationFinished" || again != idleInterval {
		t.Errorf("it is reached: %+v, %s, again after %s", progress, reasons, again)
	}
	w.record(nil)
	object.Spec.Migration = nil
	if err := w.server.Client.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if progress, reasons, again := w.reconcile(); progress.Active || reasons != "" || again != 0 {
		t.Errorf("it has ended: %+v, %s, again after %s", progress, reasons, again)
	}
}

func TestADamagedRecordWithdrawsNothing(t *testing.T) {
	w := newCluster(t)
	w.c.active = true
	w.record(&mtumigration.Record{State: mtumigration.State{MTU: 1450, Step: 1, RoutableMTU: 1400}, Change: mtumigration.Change{From: 1450, To: 1400, Announced: true}})
	w.reconcile()
	w.config.Data[mtumigration.RecordKey] = "{"
	if err := w.server.Client.Update(t.Context(), w.config); err != nil {
		t.Fatal(err)
	}
	if _, err := w.c.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("a damaged record is read")
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.c.Namespace, Name: facts.MTUMigrationConfigMap}}
	if err := w.server.Client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
		t.Errorf("the progress is withdrawn: %v", err)
	}
}
