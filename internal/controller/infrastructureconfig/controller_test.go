package infrastructureconfig

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/report"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{Audit: true, OpenShift: []string{"infrastructures.config.openshift.io"}})
}

func reconcileOnce(t *testing.T, c *Controller) []string {
	t.Helper()
	if _, err := c.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
	var reasons []string
	found, _, _ := c.Board.Snapshot()
	for _, f := range found {
		reasons = append(reasons, f.Component+" "+f.Reason)
	}
	return reasons
}

func TestInfrastructureOfAnEarlierReleaseIsFilledInAndThenFollowed(t *testing.T) {
	server := apitest.Shared(t)
	recorder := events.NewFakeRecorder(10)
	c := &Controller{Client: server.Client, Board: &report.Board{}, Events: recorder, Log: slog.New(slog.DiscardHandler)}
	if got := reconcileOnce(t, c); got != nil {
		t.Errorf("without an Infrastructure there is %v", got)
	}
	infra := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: configv1.InfrastructureSpec{
		CloudConfig: configv1.ConfigMapFileReference{Name: "cloud"}, PlatformSpec: configv1.PlatformSpec{Type: "BareMetal"}}}
	server.Create(t, infra)
	get := func() *configv1.Infrastructure {
		t.Helper()
		now := &configv1.Infrastructure{}
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(infra), now); err != nil {
			t.Fatal(err)
		}
		return now
	}
	infra.Status = configv1.InfrastructureStatus{InfrastructureName: "lab", ControlPlaneTopology: "HighlyAvailable", InfrastructureTopology: "HighlyAvailable", CPUPartitioning: "None",
		PlatformStatus: &configv1.PlatformStatus{Type: "BareMetal", BareMetal: &configv1.BareMetalPlatformStatus{APIServerInternalIP: "192.168.1.1", IngressIP: "192.168.1.2", NodeDNSIP: "192.168.1.3"}}}
	if err := server.Client.Status().Update(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	if got := reconcileOnce(t, c); got != nil {
		t.Errorf("there is %v", got)
	}
	now := get()
	if diff := cmp.Diff(&configv1.BareMetalPlatformSpec{APIServerInternalIPs: ips("192.168.1.1"), IngressIPs: ips("192.168.1.2"), MachineNetworks: []configv1.CIDR{}}, now.Spec.PlatformSpec.BareMetal); diff != "" {
		t.Error(diff)
	}
	if now.Spec.CloudConfig.Name != "cloud" || now.Status.InfrastructureName != "lab" || now.Status.PlatformStatus.BareMetal.NodeDNSIP != "192.168.1.3" {
		t.Errorf("what is not the loop's has changed: %+v", now)
	}
	for range 2 {
		reconcileOnce(t, c)
	}
	if unchanged := get(); unchanged.ResourceVersion != now.ResourceVersion {
		t.Error("a reconcile without changes has written something")
	}

	edit := func(change func(*configv1.BareMetalPlatformSpec)) {
		t.Helper()
		now := get()
		apitest.Change(t, server.Client, now, func() { change(now.Spec.PlatformSpec.BareMetal) }, client.FieldOwner("kubectl-edit"))
	}
	edit(func(s *configv1.BareMetalPlatformSpec) { dual(s, nil) })
	if got := reconcileOnce(t, c); got != nil {
		t.Errorf("with a second family there is %v", got)
	}
	now = get()
	if got := now.Status.PlatformStatus.BareMetal; len(got.APIServerInternalIPs) != 2 || got.APIServerInternalIPs[1] != "fd00::1" || len(got.MachineNetworks) != 2 || got.APIServerInternalIP != "192.168.1.1" {
		t.Errorf("the status is %+v", got)
	}

	edit(func(s *configv1.BareMetalPlatformSpec) { s.APIServerInternalIPs[0] = "192.168.1.7" })
	for range 2 {
		if diff := cmp.Diff([]string{"InfrastructureConfig SyncInfrastructureSpecAndStatus"}, reconcileOnce(t, c)); diff != "" {
			t.Error(diff)
		}
	}
	if got := get().Status.PlatformStatus.BareMetal.APIServerInternalIPs[0]; got != "192.168.1.1" {
		t.Errorf("the status follows to %s", got)
	}
	if event := <-recorder.Events; !strings.Contains(event, "first VIP cannot be modified") || len(recorder.Events) > 0 {
		t.Errorf("event %q, and %d more", event, len(recorder.Events))
	}
	edit(func(s *configv1.BareMetalPlatformSpec) { s.APIServerInternalIPs[0] = "192.168.1.1" })
	if got := reconcileOnce(t, c); got != nil {
		t.Errorf("after the restore there is %v", got)
	}
}
