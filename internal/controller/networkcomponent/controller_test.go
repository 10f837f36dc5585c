package networkcomponent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

var early, late = metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))

func condition(name, value, reason string, at metav1.Time) osv1.OperatorCondition {
	return osv1.OperatorCondition{Type: name, Status: osv1.ConditionStatus(value), Reason: reason, LastTransitionTime: at}
}

// conditions are those of flannel, which works, kube-proxy, which does not, and the MTU of nodes, which is no workload.
func conditions() []osv1.OperatorCondition {
	return []osv1.OperatorCondition{
		condition("Available", "True", "AsExpected", early), condition("Degraded", "True", "CrashLoopBackOff", late), condition("Ready", "False", "CrashLoopBackOff", late),
		condition("FlannelAvailable", "True", "AsExpected", early), condition("FlannelProgressing", "False", "AsExpected", early), condition("FlannelDegraded", "False", "AsExpected", early),
		condition("KubeProxyAvailable", "True", "AsExpected", early), condition("KubeProxyProgressing", "False", "AsExpected", early), condition("KubeProxyDegraded", "True", "CrashLoopBackOff", late),
		condition("NodeMTUDegraded", "False", "AsExpected", late),
	}
}

// summary has a line for each status: name, version, and conditions with their times.
func summary(all []networkoperatorv1.NetworkComponentStatus) string {
	var out strings.Builder
	for _, s := range all {
		out.WriteString(s.Component + " " + s.Version + ":")
		for _, c := range s.Conditions {
			out.WriteString(" " + c.Type + "=" + string(c.Status) + "/" + c.Reason + "/" + c.LastTransitionTime.UTC().Format(time.TimeOnly))
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestEachComponentHasItsConditions(t *testing.T) {
	down := append(conditions(), condition("EtcdAvailable", "False", "WorkloadDown", late), condition("EtcdProgressing", "True", "Deploying", late), condition("EtcdDegraded", "False", "AsExpected", early))
	want := `Flannel v2: Available=True/AsExpected/00:16:40 Progressing=False/AsExpected/00:16:40 Degraded=False/AsExpected/00:16:40 Ready=True/AsExpected/00:16:40
KubeProxy : Available=True/AsExpected/00:16:40 Progressing=False/AsExpected/00:16:40 Degraded=True/CrashLoopBackOff/00:33:20 Ready=False/CrashLoopBackOff/00:33:20
NodeMTU : Available=True/AsExpected/00:33:20 Progressing=False/AsExpected/00:33:20 Degraded=False/AsExpected/00:33:20 Ready=True/AsExpected/00:33:20
Etcd : Available=False/WorkloadDown/00:33:20 Progressing=True/Deploying/00:33:20 Degraded=False/AsExpected/00:16:40 Ready=False/WorkloadDown/00:33:20
`
	if diff := cmp.Diff(want, summary(statuses(down, map[string]string{"Flannel": "v2"}))); diff != "" {
		t.Error(diff)
	}
}

// world is a cluster with a Network and the controller, whose reconciles the test starts.
type world struct {
	*apitest.Server
	t       *testing.T
	c       *Controller
	network *operatorv1.Network
}

// publish sets the conditions of the network, reconciles, and returns the objects.
func (w *world) publish(conditions []osv1.OperatorCondition) []networkoperatorv1.NetworkComponent {
	w.t.Helper()
	w.network.Status.Conditions = conditions
	if err := w.Client.Status().Update(w.t.Context(), w.network); err != nil {
		w.t.Fatal(err)
	}
	return w.reconcile()
}

func (w *world) reconcile() []networkoperatorv1.NetworkComponent {
	w.t.Helper()
	if _, err := w.c.Reconcile(w.t.Context(), reconcile.Request{}); err != nil {
		w.t.Fatal(err)
	}
	var list networkoperatorv1.NetworkComponentList
	if err := w.Client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	for _, item := range list.Items {
		if item.Name != strings.ToLower(item.Status.Component) {
			w.t.Errorf("%s has the name %s", item.Status.Component, item.Name)
		}
	}
	return list.Items
}

func statusesOf(items []networkoperatorv1.NetworkComponent) (all []networkoperatorv1.NetworkComponentStatus) {
	for _, item := range items {
		all = append(all, item.Status)
	}
	return all
}

func TestComponentsAreWrittenWhenTheyChangeAndDeletedWhenTheyAreRemoved(t *testing.T) {
	server := apitest.Shared(t)
	namespace := server.Namespace(t)
	w := &world{Server: server, t: t, c: &Controller{Client: server.Client, Namespace: namespace}, network: &operatorv1.Network{
		ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}, Spec: operatorv1.NetworkSpec{
			ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"},
			DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}}}
	if items := w.reconcile(); len(items) > 0 {
		t.Errorf("without a Network there are %s", summary(statusesOf(items)))
	}
	server.Create(t, w.network)
	versions := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: status.ConfigMapName}, Data: map[string]string{status.KeyVersions: `{"Flannel":"v2"}`}}
	server.Create(t, versions)

	first := w.publish(conditions())
	if diff := cmp.Diff(summary(statuses(conditions(), map[string]string{"Flannel": "v2"})), summary(statusesOf(first))); diff != "" {
		t.Error(diff)
	}
	for i, again := range w.reconcile() {
		if again.ResourceVersion != first[i].ResourceVersion {
			t.Errorf("%s is written without a change", again.Name)
		}
	}

	healed := conditions()
	healed[8] = condition("KubeProxyDegraded", "False", "AsExpected", metav1.NewTime(late.Add(time.Hour)))
	second := w.publish(healed)
	if diff := cmp.Diff(summary(statuses(healed, map[string]string{"Flannel": "v2"})), summary(statusesOf(second))); diff != "" {
		t.Error(diff)
	}
	if second[0].ResourceVersion != first[0].ResourceVersion {
		t.Error("a component that has not changed is written")
	}

	if err := server.Client.Delete(t.Context(), &second[0]); err != nil {
		t.Fatal(err)
	}
	edited := second[1].DeepCopy()
	apitest.ChangeStatus(t, server.Client, edited, func() { edited.Status.Version = "v9" })
	if diff := cmp.Diff(summary(statusesOf(second)), summary(statusesOf(w.reconcile()))); diff != "" {
		t.Errorf("a deleted and a modified object are not restored: %s", diff)
	}
	if got := statusesOf(w.publish(healed[:6])); len(got) != 1 || got[0].Component != "Flannel" {
		t.Errorf("after the removal of components there are %s", summary(got))
	}
	if got := w.publish(nil); len(got) > 0 {
		t.Errorf("without conditions there are %s", summary(statusesOf(got)))
	}
}
