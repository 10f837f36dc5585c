package dashboards

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

func newLoop(c client.Client) *Controller {
	return &Controller{Client: c, Board: &report.Board{}, Log: slog.New(slog.DiscardHandler),
		Dashboards: map[string]string{"network-stats": `{"title":"a"}`, "network-operator": `{"title":"b"}`}}
}

func reconcileOnce(t *testing.T, c *Controller) reconcile.Result {
	t.Helper()
	result, err := c.Reconcile(t.Context(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestDashboardsAreKept covers the lifecycle of the ConfigMaps.
func TestDashboardsAreKept(t *testing.T) {
	server := apitest.Shared(t)
	c := newLoop(server.Client)
	if result := reconcileOnce(t, c); result.RequeueAfter != retryInterval {
		t.Errorf("without the namespace the controller retries after %v", result.RequeueAfter)
	}
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: prefix + "network-stats", Labels: ownedLabels()}})
	if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: prefix + "foreign", Labels: map[string]string{labelConsole: "true"}}}
	server.Create(t, foreign)
	old := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: prefix + "of-former-times", Labels: ownedLabels()}}
	server.Create(t, old)
	reconcileOnce(t, c)
	desired := []string{prefix + "foreign", prefix + "network-operator", prefix + "network-stats"}
	if diff := cmp.Diff(desired, names(t, server)); diff != "" {
		t.Errorf("ConfigMaps (-want +got):\n%s", diff)
	}
	cm := read(t, server, "network-stats")
	if cm.Labels[labelConsole] != "true" || cm.Data["network-stats.json"] != `{"title":"a"}` {
		t.Errorf("got labels %v and data %v", cm.Labels, cm.Data)
	}

	version := cm.ResourceVersion
	reconcileOnce(t, c)
	if got := read(t, server, "network-stats").ResourceVersion; got != version {
		t.Error("what is right is written again")
	}
	cm.Data["network-stats.json"], cm.Data["mine"], cm.Labels = "{}", "kept", nil
	if err := server.Client.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	reconcileOnce(t, c)
	if cm = read(t, server, "network-stats"); cm.Labels[labelConsole] != "true" || cm.Data["network-stats.json"] != `{"title":"a"}` || cm.Data["mine"] != "kept" {
		t.Errorf("after an edit there are labels %v and data %v", cm.Labels, cm.Data)
	}
	if err := server.Client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	reconcileOnce(t, c)
	read(t, server, "network-stats")
}

func TestFailureIsAFindingUntilResolved(t *testing.T) {
	refuse := errors.New("no room")
	c := newLoop(broken{refuse: &refuse})
	if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err == nil {
		t.Error("there is no error")
	}
	desired := []status.Finding{{Component: "DashboardConfig", Effect: status.Degraded, Reason: "DashboardError", Aside: true,
		Message: "The console lacks dashboards of the network: apply dashboard grafana-dashboard-network-operator: no room"}}
	found, _, _ := c.Board.Snapshot()
	if diff := cmp.Diff(desired, found); diff != "" {
		t.Error(diff)
	}
	refuse = nil
	reconcileOnce(t, c)
	if found, _, _ := c.Board.Snapshot(); len(found) != 0 {
		t.Errorf("afterwards there is still %v", found)
	}
}

// broken is a client of an empty cluster, whose writes fail as long as there is an error.
type broken struct {
	client.Client
	refuse *error
}

func (broken) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (b broken) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return *b.refuse
}

func names(t *testing.T, server *apitest.Server) (all []string) {
	t.Helper()
	var existing corev1.ConfigMapList
	if err := server.Client.List(t.Context(), &existing, client.InNamespace(Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, cm := range existing.Items {
		all = append(all, cm.Name)
	}
	return all
}

func read(t *testing.T, server *apitest.Server, name string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: prefix + name}, cm); err != nil {
		t.Fatal(err)
	}
	return cm
}
