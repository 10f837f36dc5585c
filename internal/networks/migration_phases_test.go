package networks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// migrating is a cluster in which the MTU is changed, without nodes: they do at once what is rendered.
type migrating struct {
	*testing.T
	network provider.MTUReporter
	applied *operatorv1.NetworkSpec
	config  *corev1.ConfigMap
}

// pass renders a specification, and returns what agents are to have and which change is under way; nil if there is none.
func (m *migrating) pass(desired *operatorv1.NetworkSpec) (pipeline.Result, *mtumigration.Record) {
	m.Helper()
	builder := fake.NewClientBuilder().WithScheme(manifest.Scheme())
	known := facts.Cluster{Platform: "None", HostMTU: 9000, Images: facts.Images{"": "registry.test/%s"}, ReleaseVersion: "v1.0.0", NodeCount: 1}
	if m.config != nil {
		builder = builder.WithObjects(m.config)
		record, err := mtumigration.DecodeRecord(m.config.Data)
		if err != nil {
			m.Fatal(err)
		}
		if record != nil {
			s := record.State
			known.MTUMigration = facts.MTUMigration{Active: true, Step: s.Step, MTU: s.MTU, RoutableMTU: s.RoutableMTU, Done: true}
		}
	}
	res, err := pipeline.Pipeline{Registry: Registry()}.Run(m.Context(), pipeline.Input{Desired: desired, Applied: m.applied, Cluster: known, Reader: builder.Build()}, pipeline.Render)
	if err != nil {
		m.Fatal(err)
	}
	agents := m.network.MTUAgents()
	var config *corev1.ConfigMap
	for _, o := range res.Outputs[0].Output.Objects {
		if o.Object.GetKind() == "ConfigMap" && o.Object.GetName() == agents.ConfigMap {
			config = &corev1.ConfigMap{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, config); err != nil {
				m.Fatal(err)
			}
		}
	}
	if config == nil {
		m.Fatalf("ConfigMap %s is not rendered", agents.ConfigMap)
	}
	m.config, m.applied = config, res.Spec
	record, err := mtumigration.DecodeRecord(config.Data)
	if err != nil {
		m.Fatal(err)
	}
	return res, record
}

// TestAMigrationIsRenderedPhaseByPhase migrates each network whose agents report by their pods to its end, and another time back from the middle.
func TestAMigrationIsRenderedPhaseByPhase(t *testing.T) {
	reporters := 0
	for _, p := range Registry().Providers {
		network, is := p.(provider.MTUReporter)
		if !is {
			continue
		}
		reporters++
		const from, to = 1450, 1400
		steady := func(step, mtu int) mtumigration.State { return mtumigration.State{MTU: mtu, Step: step} }
		between := func(step int) mtumigration.State {
			return mtumigration.State{MTU: from, Step: step, RoutableMTU: to}
		}
		for _, tc := range []struct {
			why string
			// back is after how many passes the announcement is removed.
			back int
			want []mtumigration.State
			last int
		}{
			{"to the end", 4, []mtumigration.State{steady(0, from), between(1), steady(2, to), steady(2, to)}, to},
			{"back from the middle", 2, []mtumigration.State{steady(0, from), between(1), steady(2, from)}, from},
		} {
			t.Run(string(network.Traits().Type)+" "+tc.why, func(t *testing.T) {
				m := &migrating{T: t, network: network}
				plain := func(edits ...func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
					s := &operatorv1.NetworkSpec{
						ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"},
						DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: network.Traits().Type},
					}
					for _, e := range edits {
						e(s)
					}
					return s
				}
				// The MTU of the links is larger, so that the first pass has one of its own.
				res, record := m.pass(plain())
				mtu, _ := network.PodMTU(res.Spec)
				if record != nil || mtu == 0 {
					t.Fatalf("a fresh cluster has MTU %d and the change %+v", mtu, record)
				}
				shift := mtu - from
				var got []mtumigration.State
				for i := 0; ; i++ {
					desired := plain(migrate(uint32(mtu), uint32(to+shift)))
					if i >= tc.back {
						desired = plain()
					}
					res, record = m.pass(desired)
					if record == nil {
						break
					}
					s := record.State
					if s.MTU -= shift; s.RoutableMTU != 0 {
						s.RoutableMTU -= shift
					}
					if got = append(got, s); len(got) > 10 {
						t.Fatalf("it does not end: %+v", got)
					}
					if record.Change.Announced != (i < tc.back) {
						t.Errorf("pass %d: the change is %+v", i, record.Change)
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("the steps are\n%s", diff)
				}
				if mtu, _ := network.PodMTU(res.Spec); mtu != tc.last+shift || res.Outputs[0].Output.MTU != mtu {
					t.Errorf("the MTU is %d in the end, and %d is rendered; want %d", mtu, res.Outputs[0].Output.MTU, tc.last+shift)
				}
			})
		}
	}
	if reporters == 0 {
		t.Error("there is no such network")
	}
}
