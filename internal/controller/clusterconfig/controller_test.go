package clusterconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{Audit: true, OpenShift: []string{
		"networks.config.openshift.io", "infrastructures.config.openshift.io", "featuregates.config.openshift.io"}})
}

// cluster is an API server and the loop, whose passes the tests start.
type cluster struct {
	*apitest.Server
	*Controller
	t      *testing.T
	events *events.FakeRecorder
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	server := apitest.Shared(t)
	recorder := events.NewFakeRecorder(100)
	c := &cluster{Server: server, t: t, events: recorder, Controller: &Controller{
		Client: server.Client, Pipeline: newPipeline(), Facts: func(context.Context) (facts.Cluster, error) { return facts.Cluster{HostMTU: 1500}, nil },
		Serves: func(schema.GroupKind) bool { return true }, Namespace: server.Namespace(t), Board: &report.Board{}, Wake: &trigger.Trigger{},
		Events: recorder, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}}
	server.DeleteAfter(t, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}})
	return c
}

// config makes Network.config.
func (c *cluster) config(spec *configv1.NetworkSpec) {
	c.t.Helper()
	c.Create(c.t, &configv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: *spec})
}

func (c *cluster) getConfig() *configv1.Network {
	c.t.Helper()
	n := &configv1.Network{}
	if err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Name: "cluster"}, n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

func (c *cluster) edit(change func(*configv1.NetworkSpec)) {
	c.t.Helper()
	n := c.getConfig()
	apitest.Change(c.t, c.Server.Client, n, func() { change(&n.Spec) })
}

func (c *cluster) operator() *operatorv1.Network {
	c.t.Helper()
	n := &operatorv1.Network{}
	if err := c.Server.Client.Get(c.t.Context(), client.ObjectKey{Name: "cluster"}, n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// reconcile makes one pass and returns the reasons of the findings.
func (c *cluster) reconcile() []string {
	c.t.Helper()
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{}); err != nil {
		c.t.Fatal(err)
	}
	return c.reasons()
}

func (c *cluster) reasons() []string {
	var reasons []string
	found, _, _ := c.Board.Snapshot()
	for _, f := range found {
		reasons = append(reasons, f.Component+" "+string(f.Effect)+" "+f.Reason)
	}
	return reasons
}

// synced checks the condition of Network.config.
func (c *cluster) synced(status metav1.ConditionStatus, reason string, contains ...string) {
	c.t.Helper()
	got := meta.FindStatusCondition(c.getConfig().Status.Conditions, conditionSynced)
	if got == nil || got.Status != status || got.Reason != reason {
		c.t.Fatalf("the condition is %+v", got)
	}
	for _, text := range contains {
		if !strings.Contains(got.Message, text) {
			c.t.Errorf("%q does not contain %q", got.Message, text)
		}
	}
}

// event checks that the next event begins with a text.
func (c *cluster) event(begins string) {
	c.t.Helper()
	select {
	case got := <-c.events.Events:
		if !strings.HasPrefix(got, begins) {
			c.t.Errorf("event %q, want %q", got, begins)
		}
	default:
		c.t.Errorf("there is no event %q", begins)
	}
}

// record makes the record of an applied network.
func (c *cluster) record(r applied.Record) {
	c.t.Helper()
	c.Create(c.t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace(), Name: applied.ConfigMapName}, Data: r.Encode()})
}

// Namespace is the operator's; both embedded types have one.
func (c *cluster) Namespace() string { return c.Controller.Namespace }

func invalid() []string {
	return []string{"ClusterConfig Degraded InvalidClusterConfig", "ClusterConfig Upgradeable InvalidClusterConfig"}
}

func TestNetworkOperatorIsCreatedFromNetworkConfigAndFollowsIt(t *testing.T) {
	c := newCluster(t)
	if got := c.reconcile(); got != nil {
		t.Errorf("without a Network.config there is %v", got)
	}
	c.config(good())
	if got := c.reconcile(); got != nil {
		t.Errorf("a configuration that is right gives %v", got)
	}
	c.event("Normal ClusterConfigFollowed Network.operator.openshift.io/cluster now has the same values in spec.clusterNetwork, spec.serviceNetwork, spec.defaultNetwork.type")
	c.synced(metav1.ConditionTrue, "AsExpected")
	n := c.operator()
	if !desiredFrom(c.getConfig()).same(&n.Spec) || n.Spec.ManagementState != "Managed" {
		t.Errorf("Network.operator is %+v", n.Spec)
	}

	// What people set besides stays; what they set otherwise does not.
	apitest.Change(t, c.Server.Client, n, func() {
		n.Spec.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{Interface: "eth1"}
		n.Spec.ServiceNetwork = []string{"172.29.0.0/16"}
		n.Spec.DisableNetworkDiagnostics, n.Spec.ManagementState = true, "Unmanaged"
	}, client.FieldOwner("kubectl-edit"))
	c.reconcile()
	c.event("Normal ClusterConfigFollowed Network.operator.openshift.io/cluster now has the same values in spec.serviceNetwork")
	n = c.operator()
	if !desiredFrom(c.getConfig()).same(&n.Spec) || n.Spec.DefaultNetwork.FlannelConfig.Interface != "eth1" || !n.Spec.DisableNetworkDiagnostics || n.Spec.ManagementState != "Unmanaged" {
		t.Errorf("Network.operator is %+v", n.Spec)
	}
	owner := ""
	for _, f := range n.ManagedFields {
		if f.Operation == metav1.ManagedFieldsOperationApply {
			owner = f.Manager
		}
	}
	if owner != string(fieldManager) {
		t.Errorf("the fields are %s's", owner)
	}

	c.edit(pods(entry("10.0.0.0/14", 24)))
	c.reconcile()
	if got := c.operator().Spec.ClusterNetwork; len(got) != 1 || got[0].HostPrefix != 24 {
		t.Errorf("after an edit the pools are %v", got)
	}
}

func TestReconcilesWithoutChangesWriteNothing(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	c.record(recorded(t, good()))
	c.reconcile()
	first, second := c.operator().ResourceVersion, c.getConfig().ResourceVersion
	c.reconcile()
	c.reconcile()
	if c.operator().ResourceVersion != first || c.getConfig().ResourceVersion != second {
		t.Error("something was written")
	}
}

func TestUnsafeChangeIsNotAppliedAndReportedOnNetworkConfig(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	c.record(recorded(t, good()))
	c.reconcile()
	c.event("Normal ClusterConfigFollowed")

	c.edit(services("172.31.0.0/16"))
	if diff := cmp.Diff(invalid(), c.reconcile()); diff != "" {
		t.Error(diff)
	}
	c.synced(metav1.ConditionFalse, "UnsafeClusterConfig", "spec.serviceNetwork", "172.31.0.0/16", "undo the change")
	c.event("Warning UnsafeClusterConfig The cluster configuration is invalid")
	c.reconcile()
	if len(c.events.Events) > 0 {
		t.Errorf("the event is repeated: %s", <-c.events.Events)
	}
	if got := c.operator().Spec.ServiceNetwork[0]; got != "172.30.0.0/16" {
		t.Errorf("%s was written down", got)
	}
	if got := c.getConfig().Status.ServiceNetwork; len(got) != 1 || got[0] != "172.30.0.0/16" {
		t.Errorf("the status is %v, want what is in effect", got)
	}

	c.edit(services("172.30.0.0/16"))
	if got := c.reconcile(); got != nil {
		t.Errorf("after the change was reverted there is %v", got)
	}
	c.synced(metav1.ConditionTrue, "AsExpected")
}

func TestDeletedRecordForcesAChange(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	c.record(recorded(t, good()))
	c.reconcile()
	c.edit(services("172.31.0.0/16"))
	c.reconcile()
	if err := c.Server.Client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace(), Name: applied.ConfigMapName}}); err != nil {
		t.Fatal(err)
	}
	if got := c.reconcile(); got != nil {
		t.Errorf("there is %v", got)
	}
	if got := c.operator().Spec.ServiceNetwork[0]; got != "172.31.0.0/16" {
		t.Errorf("services are %s", got)
	}
}

func TestConfigurationBecomesValidWithThePlatform(t *testing.T) {
	c := newCluster(t)
	infra := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: configv1.InfrastructureSpec{PlatformSpec: configv1.PlatformSpec{Type: configv1.AWSPlatformType}}}
	c.Create(t, infra)
	infra.Status = configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: configv1.AWSPlatformType},
		ControlPlaneTopology: "HighlyAvailable", InfrastructureTopology: "HighlyAvailable"}
	if err := c.Server.Client.Status().Update(t.Context(), infra); err != nil {
		t.Fatal(err)
	}
	c.config(good(dual, func(s *configv1.NetworkSpec) { s.NetworkType = "Calico" }))
	if diff := cmp.Diff(invalid(), c.reconcile()); diff != "" {
		t.Error(diff)
	}
	c.synced(metav1.ConditionFalse, "InvalidClusterConfig", "AWS is not one of the supported platforms for dual stack")

	gate := &configv1.FeatureGate{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	c.Create(t, gate)
	gate.Status.FeatureGates = []configv1.FeatureGateDetails{{Version: "4.21.0", Enabled: []configv1.FeatureGateAttributes{{Name: "AWSDualStackInstall"}}, Disabled: []configv1.FeatureGateAttributes{}}}
	if err := c.Server.Client.Status().Update(t.Context(), gate); err != nil {
		t.Fatal(err)
	}
	if got := c.reconcile(); got != nil {
		t.Errorf("with the gate there is %v", got)
	}
	c.synced(metav1.ConditionTrue, "AsExpected")
	if got := c.operator().Spec.ServiceNetwork; len(got) != 2 {
		t.Errorf("services are %v", got)
	}
}

func TestStatusIsThatOfTheRecord(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	c.reconcile()
	if got := c.getConfig().Status; got.NetworkType != "" || got.ClusterNetwork != nil {
		t.Errorf("before anything is applied the status is %+v", got)
	}
	c.record(recorded(t, good()))
	c.Board.SetRollout(report.Rollout{MTU: 1450, Applied: true})
	c.reconcile()
	got := c.getConfig().Status
	got.Conditions = nil
	if diff := cmp.Diff(configv1.NetworkStatus{NetworkType: "Flannel", ClusterNetworkMTU: 1450,
		ClusterNetwork: []configv1.ClusterNetworkEntry{entry("10.128.0.0/14", 23)}, ServiceNetwork: []string{"172.30.0.0/16"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConditionsOfOtherOwnersAreKept(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	n := c.getConfig()
	n.Status.Conditions = []metav1.Condition{{Type: "NetworkDiagnosticsAvailable", Status: metav1.ConditionTrue, Reason: "AsExpected", LastTransitionTime: metav1.Now()}}
	if err := c.Server.Client.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	c.reconcile()
	if meta.FindStatusCondition(c.getConfig().Status.Conditions, "NetworkDiagnosticsAvailable") == nil {
		t.Error("it is deleted")
	}
	c.synced(metav1.ConditionTrue, "AsExpected")
}

func TestRefusalByTheServerIsAUserError(t *testing.T) {
	c := newCluster(t)
	var many []configv1.ClusterNetworkEntry
	for i := range 40 { // more than Network.operator holds
		many = append(many, entry(fmt.Sprintf("10.%d.0.0/16", i), 24))
	}
	off := operatorWith(good(), func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(false) })
	if err := c.Server.Client.Create(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	c.config(good(pods(many...), func(s *configv1.NetworkSpec) { s.NetworkType = "Calico" }))
	if diff := cmp.Diff(invalid(), c.reconcile()); diff != "" {
		t.Error(diff)
	}
	c.synced(metav1.ConditionFalse, "InvalidClusterConfig", "spec.clusterNetwork: Too many: 40: must have at most 32 items")
}

func TestUnreadableRecordStopsAllWrites(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	c.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace(), Name: applied.ConfigMapName}, Data: map[string]string{"applied": "{"}})
	if got := c.reconcile(); got != nil {
		t.Errorf("the loop of the network reports it, and here there is %v", got)
	}
	c.synced(metav1.ConditionFalse, "AppliedConfigUnreadable")
	if err := c.Server.Client.Get(t.Context(), client.ObjectKey{Name: "cluster"}, &operatorv1.Network{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("Network.operator was made: %v", err)
	}
}

func TestReadErrorsAreReportedAndRetried(t *testing.T) {
	c := newCluster(t)
	c.config(good())
	broken := errors.New("no answer")
	c.Facts = func(context.Context) (facts.Cluster, error) { return facts.Cluster{}, broken }
	if _, err := c.Reconcile(t.Context(), reconcile.Request{}); !errors.Is(err, broken) {
		t.Errorf("the pass ends with %v", err)
	}
	if diff := cmp.Diff([]string{"ClusterConfig Degraded InfraStatusError"}, c.reasons()); diff != "" {
		t.Error(diff)
	}
	c.Facts = func(context.Context) (facts.Cluster, error) { return facts.Cluster{}, nil }
	if got := c.reconcile(); got != nil {
		t.Errorf("when it can be read there is %v", got)
	}
}

func TestOnlyAnotherMTUOnTheBoardStartsAReconcile(t *testing.T) {
	woken := 0
	board := &report.Board{}
	mtu := &watchedMTU{board: board, changed: func() { woken++ }}
	board.OnChange(mtu.check)
	for _, r := range []report.Rollout{{Generation: 1}, {Generation: 1, MTU: 1450}, {Generation: 2, MTU: 1450, Applied: true}, {Generation: 2, MTU: 8950}} {
		board.SetRollout(r)
	}
	if woken != 2 {
		t.Errorf("woken %d times, want 2", woken)
	}
}
