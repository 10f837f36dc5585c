package network

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

func configMap(t *testing.T, value string) plan.Action {
	t.Helper()
	o, err := manifest.New(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}, Data: map[string]string{"a": value}}, manifest.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Action{Verb: plan.Apply, Key: o.Key(), Version: "v1", Object: o}
}

// round plans and writes an object, and reports whether it was written.
func (fs conflicts) round(a plan.Action, now time.Time) bool {
	p := plan.Plan{Actions: []plan.Action{a}}
	repaired, _ := fs.backOff(&p, now)
	for _, one := range repaired {
		fs[one.Key].attribute(nil)
	}
	if !p.Actions[0].Writes() {
		return false
	}
	fs.recordWrite(a, now)
	return true
}

// aDay simulates a client that reverts each write at once for a day. It returns the number of writes, and the longest time for
// which the object was as that client wanted it.
func (fs conflicts) aDay(a plan.Action) (writes int, longest time.Duration) {
	now := time.Unix(0, 0)
	last := now
	for end := now.Add(24 * time.Hour); now.Before(end); now = now.Add(time.Second) {
		if fs.round(a, now) {
			writes, longest, last = writes+1, max(longest, now.Sub(last)), now
		}
	}
	return writes, longest
}

func TestNoClientCanDisableRepairsOfImportantFields(t *testing.T) {
	edited := func(kind, group, reason string) plan.Action {
		a := configMap(t, "1")
		a.Key.Kind, a.Key.Group, a.Reasons = kind, group, []string{reason}
		return a
	}
	missing := configMap(t, "1")
	missing.Verb, missing.Reasons = plan.Create, []string{"it does not exist"}
	const label = "metadata.labels[x]: a -> b"
	for _, row := range []struct {
		why string
		a   plan.Action
	}{
		{"an object that is missing", missing},
		{"a configuration that is not the wanted one", edited("ConfigMap", "", "data.a: 2 -> 1")},
		{"both at once", func() plan.Action {
			a := edited("ConfigMap", "", label)
			a.Reasons = append(a.Reasons, "data.a: 2 -> 1")
			return a
		}()},
		{"a DaemonSet", edited("DaemonSet", "apps", label)},
		{"an admission policy", edited("ValidatingAdmissionPolicy", "admissionregistration.k8s.io", label)},
		{"what binds it", edited("ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io", label)},
		{"its parameters", edited("NetworkGuard", "networkoperator.openshift.io", label)},
		{"the labels that admit pods", edited("Namespace", "", label)},
	} {
		if writes, longest := (conflicts{}).aDay(row.a); longest > minBackOff || writes > 2*86400/30 {
			t.Errorf("%s: %d writes in a day, at most %s apart", row.why, writes, longest)
		}
	}
}

func TestAConflictOverLabelsHasExponentialBackOff(t *testing.T) {
	fs, a := conflicts{}, configMap(t, "1")
	a.Reasons = []string{"metadata.labels[x]: a -> b"}
	writes, _ := fs.aDay(a)
	// One install, five repairs, then after 30 s, 1 min, 2, 4, 8, 16 and every 30 minutes.
	if writes < 50 || writes > 60 {
		t.Errorf("%d writes in a day", writes)
	}
	found := fs.findings()
	if len(found) != 2 || found[0].Reason != fight.Reason || !strings.HasPrefix(found[0].Message, "ConfigMap n/c is being modified or deleted by an unknown client; the operator restored it 5 times ") {
		t.Errorf("findings are %+v", found)
	}
}

func TestAFightIsOverWhenTheObjectStaysAsItIsWanted(t *testing.T) {
	fs, now, a := conflicts{}, time.Unix(0, 0), configMap(t, "1")
	for range fight.After + 1 {
		fs.round(a, now)
	}
	if len(fs.findings()) == 0 {
		t.Fatal("no conflict")
	}
	converged := a
	converged.Verb = plan.None
	fs.round(converged, now.Add(minBackOff/2))
	if len(fs.findings()) == 0 {
		t.Error("the conflict ended too early")
	}
	fs.round(converged, now.Add(minBackOff))
	if found := fs.findings(); found != nil {
		t.Errorf("findings are %+v", found)
	}
}

func TestANewDesiredObjectIsNoConflict(t *testing.T) {
	fs, now := conflicts{}, time.Unix(0, 0)
	for i := range 100 {
		if !fs.round(configMap(t, strings.Repeat("x", i)), now) {
			t.Fatalf("edit %d is not applied", i)
		}
	}
}

func TestRareRepairsAreNoFight(t *testing.T) {
	fs, now, a := conflicts{}, time.Unix(0, 0), configMap(t, "1")
	for i := range 100 {
		if now = now.Add(fight.Window / (fight.After - 2)); !fs.round(a, now) {
			t.Fatalf("repair %d is not made", i)
		}
	}
}

func TestTheLastWriterIsNamed(t *testing.T) {
	at := func(manager string, second int64, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: new(metav1.Unix(second, 0)), Subresource: subresource}
	}
	for _, row := range []struct {
		why    string
		in     []metav1.ManagedFieldsEntry
		client string
		same   bool
	}{
		{"a deleted object has no fields", nil, unknownClient, false},
		{"the last of others", []metav1.ManagedFieldsEntry{at("helm", 1, ""), at("kubectl-edit", 3, ""), at(FieldManager, 2, "")}, "kubectl-edit", false},
		{"a status is no conflict", []metav1.ManagedFieldsEntry{at("helm", 3, ""), at("kube-controller-manager", 9, "status"), at(FieldManager, 2, "")}, "helm", false},
		{"within one second the other client counts", []metav1.ManagedFieldsEntry{at("argocd", 2, ""), at(FieldManager, 2, "")}, "argocd", false},
		{"another operator with our name", []metav1.ManagedFieldsEntry{at("helm", 1, ""), at(FieldManager, 2, "")}, FieldManager, true},
	} {
		f := &conflict{}
		if f.attribute(row.in); f.client != row.client || f.same != row.same {
			t.Errorf("%s: %q, %t", row.why, f.client, f.same)
		}
	}
}
