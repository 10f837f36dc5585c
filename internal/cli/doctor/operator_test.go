package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/status"
)

// deployed creates the operator's Deployment, whose only pod is available, and its lease.
func deployed(t *testing.T, server *apitest.Server, ns string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": "o"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: status.OperatorDeployment}, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	server.Create(t, d)
	d.Status = appsv1.DeploymentStatus{Replicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas}
	if err := server.Client.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	holder, at := "a", metav1.NewMicroTime(time.Now())
	server.Create(t, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: status.LeaseName}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at}})
}

// diagnose collects from the server and returns the findings some time later.
func diagnose(t *testing.T, server *apitest.Server, ns string, later time.Duration) []Finding {
	t.Helper()
	c, err := open(server.Config, ns, networks.Registry(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.collect(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return evaluate(found, ns, c.clock.Now().Add(later))
}

// hasFinding reports whether one of the findings contains all of the texts.
func hasFinding(all []Finding, texts ...string) bool {
	return slices.ContainsFunc(all, func(f Finding) bool {
		text := fmt.Sprintf("%s: %s; %s; %s", f.Severity, f.What, f.Cause, f.WayOut)
		return !slices.ContainsFunc(texts, func(want string) bool { return !strings.Contains(text, want) })
	})
}

func TestFailedOperatorIsCriticalAndSoAreUnrepairedProblems(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	deployed(t, server, ns, 1)
	cm := func(name string) plan.Entry {
		return plan.Entry{Key: manifest.Key{Kind: "ConfigMap", Namespace: ns, Name: name}, Version: "v1"}
	}
	inventory := plan.Inventory{cm("exists"), cm("gone"), {Key: manifest.Key{Kind: "Secret", Namespace: ns, Name: "s"}, Version: "v1"}, {Key: manifest.Key{Group: "example.com", Kind: "Unserved", Name: "u"}, Version: "v1"}}
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "exists"}})
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: plan.InventoryName}, Data: inventory.Data()})
	missing := "an object of the network does not exist: ConfigMap " + ns + "/gone"

	all := diagnose(t, server, ns, 0)
	if hasFinding(all, "the operator does not work") || !hasFinding(all, "critical", missing, "cno diff") {
		t.Errorf("of an operator that works: %v", all)
	}
	all = diagnose(t, server, ns, 2*time.Minute)
	if !hasFinding(all, "critical", "the operator does not work", "Lease "+ns+"/"+status.LeaseName+" was last renewed at") || !hasFinding(all, "critical", missing, "start the operator") {
		t.Errorf("of a lease that was not renewed: %v", all)
	}
}

func TestAnOperatorThatIsScaledToZeroIsOneFinding(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	deployed(t, server, ns, 0)
	all := diagnose(t, server, ns, 0)
	if !hasFinding(all, "critical", "is scaled to 0", "kubectl -n "+ns+" scale deployment network-operator --replicas=1") {
		t.Errorf("%v", all)
	}
	if n := strings.Count(fmt.Sprint(all), "Deployment "+ns+"/network-operator"); n != 1 {
		t.Errorf("the Deployment is named %d times: %v", n, all)
	}
}
