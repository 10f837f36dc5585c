// Package etcdnodes plays the nodes of a cluster for tests of a network with a managed etcd: Node objects in a real API server, and
// kubelets that run real etcd members on addresses of the loopback interface. The test also plays the operator's network controller, which
// applies what the network renders.
package etcdnodes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// Controller is the controller of a network.
type Controller interface {
	reconcile.Reconciler
	Close()
}

// World is a cluster. Only the test moves its clock.
type World struct {
	// T is the test, or the part of it that runs.
	T *testing.T
	// Server is the API server, API a client of its administrator.
	Server *apitest.Server
	API    client.Client
	// Cluster names the etcd.
	Cluster etcdcluster.Cluster
	// Render returns what the network renders. The objects of members that are not among them are deleted, unless the network waits for
	// something.
	Render func() (objects []manifest.Object, waits bool)
	// New returns the controller, which reports to Findings and uses Now as its clock.
	New func() Controller
	// Controller is the one that Restart has started last.
	Controller Controller
	Now        time.Time
	Findings   []status.Finding
	// Ports are those of members for clients, for peers and for probes.
	Ports [3]uint32
	// Started is how often the member on a node was started.
	Started map[string]int
	// Quota is the size that databases may have, in bytes; 0 is etcdcluster.Quota.
	Quota int

	disks string
	// running are the members by node; nodes in off do not run.
	running map[string]*Process
	off     map[string]bool
	// template is the hash of the pod template, by Deployment, that the last pod was started from.
	template map[string]string
	// log has the output of members.
	log *os.File
}

// New returns a world without nodes, whose fields Render and New are to be set before it is started with Restart. No other test acts in it at
// the same time. Worlds run beside one another: each waits for its members most of the time.
func New(t *testing.T, cluster etcdcluster.Cluster) *World {
	t.Helper()
	t.Parallel()
	server := apitest.Borrow(t)
	w := &World{
		T: t, Server: server, API: server.Client, Cluster: cluster, Now: time.Now(), Ports: FreePorts(t), disks: t.TempDir(),
		running: map[string]*Process{}, Started: map[string]int{}, off: map[string]bool{}, template: map[string]string{},
	}
	var err error
	if w.log, err = os.Create(filepath.Join(w.disks, "etcd.log")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cluster.Namespace, status.OperatorNamespace} {
		err := w.API.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(w.clear)
	return w
}

// clear removes everything that a test has made, since another one gets the API server.
func (w *World) clear() {
	if w.Controller != nil {
		w.Controller.Close()
	}
	for node := range w.running {
		w.Kill(node)
	}
	ctx := context.Background()
	for _, ns := range []string{w.Cluster.Namespace, status.OperatorNamespace} {
		for _, o := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}, &appsv1.Deployment{}} {
			if err := w.API.DeleteAllOf(ctx, o, client.InNamespace(ns)); err != nil {
				w.T.Error(err)
			}
		}
	}
	if err := w.API.DeleteAllOf(ctx, &corev1.Node{}); err != nil {
		w.T.Error(err)
	}
}

// Restart kills the operator, if it runs, and starts it.
func (w *World) Restart() {
	if w.Controller != nil {
		w.Controller.Close()
	}
	w.Controller = w.New()
}

// Node creates a Node that is ready. Its number makes its Address.
func (w *World) Node(name string, number int, controlPlane bool) *corev1.Node {
	w.T.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if controlPlane {
		n.Labels["node-role.kubernetes.io/control-plane"] = ""
	}
	if err := w.API.Create(w.T.Context(), n); err != nil {
		w.T.Fatal(err)
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: Address(number)}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := w.API.Status().Update(w.T.Context(), n); err != nil {
		w.T.Fatal(err)
	}
	return n
}

// Address returns the address of the node with a number from 1 to 9.
func Address(number int) string { return fmt.Sprintf("127.0.1.%d", number) }

// RemoveNode deletes a Node object; what runs on the node keeps running.
func (w *World) RemoveNode(name string) {
	w.T.Helper()
	if err := w.API.Delete(w.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		w.T.Fatal(err)
	}
}

// Turn lets everything act once: what is rendered is applied, kubelets run it, and the controller reconciles.
func (w *World) Turn() {
	w.T.Helper()
	w.Apply()
	w.kubelets()
	if _, err := w.Controller.Reconcile(w.T.Context(), reconcile.Request{}); err != nil {
		w.T.Logf("reconcile: %v", err)
	}
}

// Until takes turns until a condition holds.
func (w *World) Until(what string, condition func() bool) {
	w.T.Helper()
	eventually.IsOrShow(w.T, 150*time.Second, what, func() bool {
		if condition() {
			return true
		}
		w.Turn()
		return false
	}, func() string {
		output, _ := os.ReadFile(w.log.Name())
		return fmt.Sprintf("members: %+v; findings: %v; last output of etcd:\n%s", w.Members().Members, w.Findings, output[max(0, len(output)-4000):])
	})
}

// Settle takes turns until exactly these nodes run voting members, there are no findings, and some turns change nothing more.
func (w *World) Settle(nodes ...string) {
	w.T.Helper()
	last, quiet := w.Members(), 0
	w.Until("the members are on "+strings.Join(nodes, ", "), func() bool {
		m := w.Members()
		if quiet++; !cmp.Equal(m, last) || len(w.Findings) > 0 {
			last, quiet = m, 0
		}
		return quiet > 3 && cmp.Equal(w.Voters(), nodes) && len(m.Members) == len(nodes)
	})
}

// Apply applies the ConfigMaps and Deployments that are rendered, and deletes those of members that no longer are.
func (w *World) Apply() {
	w.T.Helper()
	objects, waits := w.Render()
	for _, o := range objects {
		switch o.Key().Kind {
		case "ConfigMap", "Deployment":
			if err := w.API.Apply(w.T.Context(), client.ApplyConfigurationFromUnstructured(o.Object), client.FieldOwner("test"), client.ForceOwnership); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	if !waits {
		w.prune(objects)
	}
}

// prune deletes the Deployments and ConfigMaps of members that are not rendered any more.
func (w *World) prune(rendered []manifest.Object) {
	w.T.Helper()
	keep := map[string]bool{}
	for _, o := range rendered {
		keep[o.Key().Kind+o.Key().Name] = true
	}
	var deployments appsv1.DeploymentList
	var maps corev1.ConfigMapList
	for _, list := range []client.ObjectList{&deployments, &maps} {
		if err := w.API.List(context.Background(), list, client.InNamespace(w.Cluster.Namespace)); err != nil {
			w.T.Fatal(err)
		}
	}
	drop := func(o client.Object) {
		if err := client.IgnoreNotFound(w.API.Delete(w.T.Context(), o)); err != nil {
			w.T.Fatal(err)
		}
	}
	for i := range deployments.Items {
		if !keep["Deployment"+deployments.Items[i].Name] {
			drop(&deployments.Items[i])
		}
	}
	for i := range maps.Items {
		if _, copied := maps.Items[i].Labels[etcdcluster.CopyLabel]; copied && !keep["ConfigMap"+maps.Items[i].Name] {
			drop(&maps.Items[i])
		}
	}
}

// Members returns the record of members; it is empty if there is none.
func (w *World) Members() etcdcluster.Membership {
	w.T.Helper()
	var cm corev1.ConfigMap
	err := w.API.Get(context.Background(), client.ObjectKey{Namespace: w.Cluster.Namespace, Name: w.Cluster.MembersConfigMap()}, &cm)
	if err != nil {
		if client.IgnoreNotFound(err) != nil {
			w.T.Fatal(err)
		}
		return etcdcluster.Membership{}
	}
	m, err := etcdcluster.DecodeMembership(cm.Data[etcdcluster.MembersKey])
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

// Voters returns the nodes of the members with a vote, sorted.
func (w *World) Voters() []string {
	w.T.Helper()
	var out []string
	for _, m := range w.Members().Members {
		if m.Votes() {
			out = append(out, m.Node)
		}
	}
	slices.Sort(out)
	return out
}

// Message returns the message of the finding with a reason; it is empty if there is none.
func (w *World) Message(reason string) string {
	for _, f := range w.Findings {
		if f.Reason == reason {
			return f.Message
		}
	}
	return ""
}

// Secret returns the data of a Secret; nil if there is none.
func (w *World) Secret(namespace, name string) map[string][]byte {
	w.T.Helper()
	var s corev1.Secret
	if err := w.API.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, &s); err != nil {
		return nil
	}
	return s.Data
}

// Dial connects to the managed etcd with a certificate, given as the data of its Secret.
func (w *World) Dial(data map[string][]byte) *clientv3.Client {
	w.T.Helper()
	config, err := etcdclient.TLSConfig(data)
	if err != nil {
		w.T.Fatal(err)
	}
	var endpoints []string
	for _, m := range w.Members().Members {
		endpoints = append(endpoints, m.ClientURL)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { _ = c.Close() })
	return c
}
