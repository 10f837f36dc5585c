package machineconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const roleLabel = "machineconfiguration.openshift.io/role"

func configFor(name, role string) config {
	return config{Name: name, Labels: map[string]string{roleLabel: role}}
}

// poolFor is a pool of a role whose nodes all have what sources name.
func poolFor(role string, sources ...string) machineconfigv1.MachineConfigPool {
	p := machineconfigv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: role}}
	p.Spec.MachineConfigSelector = &metav1.LabelSelector{MatchLabels: map[string]string{roleLabel: role}}
	for _, name := range sources {
		p.Status.Configuration.Source = append(p.Status.Configuration.Source, corev1.ObjectReference{Kind: "MachineConfig", Name: name})
	}
	p.Spec.Configuration = p.Status.Configuration
	return p
}

func with(p machineconfigv1.MachineConfigPool, change func(*machineconfigv1.MachineConfigPool)) machineconfigv1.MachineConfigPool {
	change(&p)
	return p
}

func paused(p *machineconfigv1.MachineConfigPool) { p.Spec.Paused = true }

func failing(kind machineconfigv1.MachineConfigPoolConditionType, message string) func(*machineconfigv1.MachineConfigPool) {
	return func(p *machineconfigv1.MachineConfigPool) {
		p.Status.Conditions = append(p.Status.Conditions,
			machineconfigv1.MachineConfigPoolCondition{Type: machineconfigv1.MachineConfigPoolDegraded, Status: corev1.ConditionTrue},
			machineconfigv1.MachineConfigPoolCondition{Type: kind, Status: corev1.ConditionTrue, Message: message})
	}
}

func TestEveryStateOfPools(t *testing.T) {
	const processing = "Progressing MachineConfig: worker machine config pool is still processing 10-br-ex-worker machine config"
	ownWorker := []config{configFor("10-br-ex-worker", "worker")}
	for _, row := range []struct {
		message     string
		input       input
		expected    []string
		writeRecord []string
	}{
		{"nothing of the operator's is there: pools are none of its business, however they are",
			input{Pools: []machineconfigv1.MachineConfigPool{with(poolFor("worker"), failing(machineconfigv1.MachineConfigPoolNodeDegraded, "x"))}}, nil, nil},
		{"all nodes have it", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{poolFor("worker", "00-worker", "10-br-ex-worker")}},
			nil, []string{"10-br-ex-worker"}},
		{"it is on its way", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{poolFor("worker", "00-worker")}},
			[]string{processing}, []string{"10-br-ex-worker"}},
		{"another pool than the one it is for is degraded", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{
			poolFor("worker", "10-br-ex-worker"), with(poolFor("master"), failing(machineconfigv1.MachineConfigPoolNodeDegraded, "x"))}},
			nil, []string{"10-br-ex-worker"}},
		{"its pool is degraded, with the cause", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{
			with(poolFor("worker", "10-br-ex-worker"), failing(machineconfigv1.MachineConfigPoolNodeDegraded, "Node w is reporting: no space"))}},
			[]string{"Degraded MachineConfig: worker machine config pool in degraded state: Node w is reporting: no space"}, []string{"10-br-ex-worker"}},
		{"degraded, and the configuration does not render", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{
			with(poolFor("worker"), failing(machineconfigv1.MachineConfigPoolRenderDegraded, "bad"))}},
			[]string{"Degraded MachineConfig: worker machine config pool in degraded state: bad", processing}, []string{"10-br-ex-worker"}},
		{"the pool is paused: named, and the network does not wait", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{
			with(poolFor("worker"), paused)}},
			[]string{"(Progressing MachineConfigPoolPaused: worker machine config pool is paused and does not process 10-br-ex-worker machine config; set its spec.paused to false)"},
			[]string{"10-br-ex-worker"}},
		{"paused, with nothing to process", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{with(poolFor("worker", "10-br-ex-worker"), paused)}},
			nil, []string{"10-br-ex-worker"}},
		{"one of two roles is ready: the other's state stays", input{Configs: append(ownWorker, configFor("10-br-ex-master", "master")),
			Pools: []machineconfigv1.MachineConfigPool{poolFor("worker"), poolFor("master", "10-br-ex-master")}},
			[]string{processing}, []string{"10-br-ex-master", "10-br-ex-worker"}},
		{"one of several of a role is removed, the others stay", input{
			Configs: ownWorker, Recorded: []string{"10-br-ex-worker", "80-ipsec-worker-extensions"},
			Pools: []machineconfigv1.MachineConfigPool{poolFor("worker", "10-br-ex-worker", "80-ipsec-worker-extensions")}},
			[]string{"Progressing MachineConfig: worker machine config pool is still processing 80-ipsec-worker-extensions machine config"},
			[]string{"10-br-ex-worker", "80-ipsec-worker-extensions"}},
		{"removed, and a custom pool that takes it too still has it", input{Recorded: []string{"10-br-ex-worker"},
			Pools: []machineconfigv1.MachineConfigPool{poolFor("worker"), poolFor("infra", "10-br-ex-worker")}},
			[]string{"Progressing MachineConfig: infra machine config pool is still processing 10-br-ex-worker machine config"}, []string{"10-br-ex-worker"}},
		{"removed everywhere: forgotten", input{Recorded: []string{"10-br-ex-worker"}, Pools: []machineconfigv1.MachineConfigPool{poolFor("worker", "00-worker")}}, nil, nil},
		{"removed, and the pool is on its way to a configuration that has it", input{Recorded: []string{"10-br-ex-worker"}, Pools: []machineconfigv1.MachineConfigPool{
			with(poolFor("worker", "10-br-ex-worker"), func(p *machineconfigv1.MachineConfigPool) {
				p.Status.Configuration = machineconfigv1.MachineConfigPoolStatusConfiguration{}
			})}}, []string{processing}, []string{"10-br-ex-worker"}},
		{"removed and made again: no longer being removed", input{Configs: ownWorker, Recorded: []string{"10-br-ex-worker"},
			Pools: []machineconfigv1.MachineConfigPool{poolFor("worker", "10-br-ex-worker")}}, nil, []string{"10-br-ex-worker"}},
		{"no pool has the role", input{Configs: []config{configFor("10-br-ex-edge", "edge")}, Pools: []machineconfigv1.MachineConfigPool{poolFor("worker")}},
			[]string{"(Degraded NoMachineConfigPool: no machine config pool selects 10-br-ex-edge machine config, so it is applied on no node; create a pool for its role)"},
			[]string{"10-br-ex-edge"}},
		{"a pool without a selector takes nothing", input{Configs: ownWorker, Pools: []machineconfigv1.MachineConfigPool{
			poolFor("worker", "10-br-ex-worker"), {ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: machineconfigv1.MachineConfigPoolSpec{MachineConfigSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}}}}, nil, []string{"10-br-ex-worker"}},
	} {
		t.Run(row.message, func(t *testing.T) {
			d := decide(row.input)
			if diff := cmp.Diff(row.expected, texts(d)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.writeRecord, d.Record); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
		})
	}
}

// texts returns findings as text; those aside in parentheses.
func texts(d decision) []string {
	var all []string
	for _, f := range findings(d) {
		text := string(f.Effect) + " " + f.Reason + ": " + f.Message
		if f.Component != "MachineConfig" {
			text = f.Component + " " + text
		}
		if f.Aside {
			text = "(" + text + ")"
		}
		all = append(all, text)
	}
	return all
}

func FuzzRecordIsNeverTrusted(f *testing.F) {
	f.Add(`["10-br-ex-worker"]`)
	f.Add(`["b","a","b"]`)
	f.Add(`{"a":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		w := input{Recorded: decodeNames(text), Configs: []config{configFor("a", "worker")}, Pools: []machineconfigv1.MachineConfigPool{poolFor("worker", "a", "b")}}
		d := decide(w)
		again := decide(input{Recorded: d.Record, Configs: w.Configs, Pools: w.Pools})
		if diff := cmp.Diff(d, again); diff != "" {
			t.Errorf("a second decision differs:\n%s", diff)
		}
	})
}
