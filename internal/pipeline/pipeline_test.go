package pipeline

import (
	"bytes"
	"context"
	"errors"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/panics"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func TestInvalidEditKeepsTheAppliedNetwork(t *testing.T) {
	applied := mustRun(t, Input{Desired: spec(), Cluster: cluster()}, Fill).Spec
	for _, tc := range []struct {
		why   string
		edit  edit
		stage Stage
	}{
		{"invalid", podPools("nonsense"), Validate},
		{"invalid and not built", typed("Kuryr"), Validate},
		{"unsafe", services("172.31.0.0/16"), Check},
	} {
		t.Run(tc.why, func(t *testing.T) {
			res, err := reconcile(t.Context(), newPipeline(), Input{Desired: spec(tc.edit), Applied: applied, Cluster: cluster()})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(applied, res.Spec); d != "" {
				t.Errorf("in effect is not what is applied: %s", d)
			}
			if len(res.Outputs) != 2 {
				t.Errorf("%d outputs: the network is not repaired", len(res.Outputs))
			}
			if StageOf(res.Refused) != tc.stage || RefusalsOf(res.Refused) == nil {
				t.Errorf("refused: %v", res.Refused)
			}
		})
	}
}

func TestAppliedConfigurationIsNotValidatedAgain(t *testing.T) {
	// A newer operator refuses what an older one accepted. It must continue with it.
	applied := spec(mtu(100), services("172.30.0.1/16"))
	res, err := reconcile(t.Context(), newPipeline(), Input{Desired: applied, Applied: applied, Cluster: cluster()})
	if err != nil || !RefusalsOf(res.Refused).Has("flannel-mtu-range") || len(res.Outputs) != 2 {
		t.Errorf("error %v, refused %v, %d outputs", err, res.Refused, len(res.Outputs))
	}
}

func TestFreshClusterHasNoFallback(t *testing.T) {
	res, err := reconcile(t.Context(), newPipeline(), Input{Desired: spec(services()), Cluster: cluster()})
	if StageOf(err) != Validate || res.Refused != nil || len(res.Outputs) != 0 {
		t.Errorf("error %v, refused %v, %d outputs", err, res.Refused, len(res.Outputs))
	}
}

func TestAppliedNetworkThatIsNotBuiltRendersNothing(t *testing.T) {
	// For example after a downgrade. Rendering only the rest would delete the network.
	in := Input{Desired: spec(typed("Kuryr")), Applied: spec(typed("Kuryr")), Cluster: cluster()}
	res, err := reconcile(t.Context(), newPipeline(), in)
	if !RefusalsOf(err).Has(RuleNotBuilt) || len(res.Outputs) != 0 {
		t.Errorf("error %v, %d outputs", err, len(res.Outputs))
	}
}

func TestStagesCanBeRunAlone(t *testing.T) {
	in := Input{Desired: spec(), Applied: spec(), Cluster: cluster()}
	if res := mustRun(t, in, Validate); res.Spec.DeployKubeProxy != nil || res.Outputs != nil {
		t.Error("Validate filled or rendered")
	}
	if res := mustRun(t, in, Check); res.Spec.DeployKubeProxy == nil || res.Outputs != nil {
		t.Error("Check did not fill, or it rendered")
	}
}

func TestPanicsBecomeErrorsThatNameTheStage(t *testing.T) {
	for where, want := range map[string]Stage{"Validate": Validate, "Default": Fill, "CheckChange": Check, "Observe": Bootstrap, "Render": Render} {
		var log bytes.Buffer
		p := Pipeline{Registry: registry(), Log: slog.New(slog.NewTextHandler(&log, nil))}
		p.Registry.Providers[0] = fakeprovider.Network{With: flannelTraits(), Panics: where}
		_, err := p.Run(t.Context(), Input{Desired: spec(), Applied: spec(mtu(1500)), Cluster: cluster()}, Render)
		bug, ok := errors.AsType[*panics.Error](err)
		if !ok || StageOf(err) != want || !strings.Contains(err.Error(), "boom in "+where) || len(bug.Stack) == 0 {
			t.Errorf("panic in %s: error %v", where, err)
		}
		if !strings.Contains(log.String(), "fakeprovider.Network") {
			t.Errorf("panic in %s: no stack in the log: %s", where, log.String())
		}
	}
}

func TestASpecificationIsNeeded(t *testing.T) {
	if _, err := newPipeline().Run(t.Context(), Input{}, Render); StageOf(err) != Merge || err.Error() != "Merge: there is no specification" {
		t.Errorf("error %v", err)
	}
}

func TestACancelledRunStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newPipeline().Run(ctx, Input{Desired: spec()}, Render); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRegistriesWithDuplicateNamesAreRefused(t *testing.T) {
	if err := registry().Check(); err != nil {
		t.Error(err)
	}
	for why, spoil := range map[string]func(*Registry){
		"a type twice":               func(r *Registry) { r.Providers = append(r.Providers, NotBuilt(operatorv1.NetworkTypeKuryr)) },
		"a component called a type":  func(r *Registry) { r.Components = append(r.Components, fakeComponent{name: "Kuryr"}) },
		"a component without a name": func(r *Registry) { r.Components = []provider.Component{fakeComponent{}} },
	} {
		r := registry()
		spoil(&r)
		if r.Check() == nil {
			t.Errorf("%s is accepted", why)
		}
	}
}
