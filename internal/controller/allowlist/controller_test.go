package allowlist

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/report"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// cluster is an API server with the loop, which the test runs explicitly.
type cluster struct {
	*apitest.Server
	*Controller
	t      *testing.T
	events []string
}

func (c *cluster) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	c.events = append(c.events, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Server: apitest.Shared(t), t: t}
	c.Controller = &Controller{Live: c.Client, Applied: c.Client, client: c.Client, Image: "multus:v1", Version: "v1", Board: &report.Board{}, Events: c, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	return c
}

func (c *cluster) run() {
	c.t.Helper()
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) list() *corev1.ConfigMap {
	c.t.Helper()
	cm := &corev1.ConfigMap{}
	if err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: Namespace, Name: listName}, cm); err != nil {
		c.t.Fatal(err)
	}
	return cm
}

func (c *cluster) write(text string) {
	c.t.Helper()
	cm := c.list()
	cm.Data = map[string]string{key: text}
	if err := c.Client.Update(c.t.Context(), cm); err != nil {
		c.t.Fatal(err)
	}
}

// daemonSet returns the DaemonSet, nil if there is none.
func (c *cluster) daemonSet() *appsv1.DaemonSet {
	c.t.Helper()
	ds := &appsv1.DaemonSet{}
	err := c.Client.Get(c.t.Context(), client.ObjectKey{Namespace: Namespace, Name: workload}, ds)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return ds
}

// rollOut makes the DaemonSet look as if all of three nodes had the list.
func (c *cluster) rollOut() {
	c.t.Helper()
	ds := c.daemonSet()
	ds.Status = appsv1.DaemonSetStatus{ObservedGeneration: ds.Generation, DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: 3, NumberReady: 3}
	if err := c.Client.Status().Update(c.t.Context(), ds); err != nil {
		c.t.Fatal(err)
	}
}

// TestListIsInstalledOnNodesAndRestored follows a list from the default one to another, through a mistake, and back.
func TestListIsInstalledOnNodesAndRestored(t *testing.T) {
	c := newCluster(t)
	c.run() // there is no Multus: no namespace, and nothing in it
	if err := c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		t.Fatal(err)
	}
	c.run()
	defaultValue := c.list().Data[key]
	if !strings.Contains(defaultValue, "^net.ipv4.conf.IFNAME.rp_filter$\n") {
		t.Errorf("the list is %q", defaultValue)
	}
	c.run()
	if ds := c.daemonSet(); ds != nil {
		t.Fatal("the default list needs no DaemonSet")
	}

	c.write("^mine$")
	c.run()
	ds := c.daemonSet()
	if got := listOf(ds); got != "^mine$" || ds.Spec.Template.Spec.ServiceAccountName != "" {
		t.Errorf("it installs %q as %q", got, ds.Spec.Template.Spec.ServiceAccountName)
	}
	c.rollOut()
	c.run()
	version := c.daemonSet().ResourceVersion
	c.run()
	if c.daemonSet().ResourceVersion != version {
		t.Error("a pass with nothing to do writes")
	}

	c.write("^mine($")
	c.run()
	if got := listOf(c.daemonSet()); got != "^mine$" {
		t.Errorf("an invalid list installs %q", got)
	}
	c.write("^other$")
	c.run()
	c.rollOut()
	c.run()

	ds = c.daemonSet()
	ds.Spec.Template.Spec.Containers[0].Image = "mine"
	if err := c.Client.Update(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	c.run()
	if got := c.daemonSet().Spec.Template.Spec.Containers[0].Image; got != "multus:v1" {
		t.Errorf("the image is %s", got)
	}

	if err := c.Client.Delete(t.Context(), c.list()); err != nil {
		t.Fatal(err)
	}
	c.run()
	if diff := cmp.Diff(defaultValue, c.list().Data[key]); diff != "" {
		t.Error(diff)
	}
	if got := listOf(c.daemonSet()) + "\n"; got != defaultValue {
		t.Errorf("nodes get %q", got)
	}
	c.rollOut()
	c.run()
	if c.daemonSet() != nil {
		t.Error("no one needs the DaemonSet any more")
	}
	c.run()
	var reasons []string
	for _, e := range c.events {
		reasons = append(reasons, strings.SplitN(e, ":", 2)[0])
	}
	want := []string{"Normal Distributed", "Warning InvalidAllowlist", "Normal Distributed", "Normal Distributed"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("%s\n%q", diff, c.events)
	}
}
