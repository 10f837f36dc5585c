package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/panics"
)

// FuzzPipeline runs any two specifications through all stages: no stage may panic, the input may not change,
// filling twice is filling once, and what is filled is no change of itself.
func FuzzPipeline(f *testing.F) {
	seeds := seedSpecs()
	for i, s := range seeds {
		f.Add(text(f, s), text(f, seeds[(i+1)%len(seeds)]))
	}
	f.Add(`{"clusterNetwork":[{"cidr":"::ffff:1.2.3.4/100","hostPrefix":4294967295}],"serviceNetwork":["/","0.0.0.0/0"]}`, `{}`)
	f.Add(`{}`, `{"migration":{"mtu":{}},"clusterNetwork":[{}],"serviceNetwork":["",""]}`)
	f.Fuzz(func(t *testing.T, desired, applied string) {
		next, prev := &operatorv1.NetworkSpec{}, &operatorv1.NetworkSpec{}
		if json.Unmarshal([]byte(desired), next) != nil || json.Unmarshal([]byte(applied), prev) != nil {
			return
		}
		holds(t, next, prev)
	})
}

// holds checks everything that must be true of any input.
func holds(t *testing.T, next, prev *operatorv1.NetworkSpec) {
	t.Helper()
	p := newPipeline()
	f := cluster()
	f.NodeCount, f.NodeAddresses = 3, map[string][]netip.Addr{"a": {netip.MustParseAddr("192.0.2.1")}}
	wasNext, wasPrev := next.DeepCopy(), prev.DeepCopy()
	for _, in := range []Input{{Desired: next, Applied: prev, Cluster: f}, {Desired: next, Cluster: f}, {Desired: next, Applied: prev, Cluster: facts.Cluster{}}} {
		res, err := reconcile(context.Background(), p, in)
		for _, e := range []error{err, res.Refused} {
			if bug, ok := errors.AsType[*panics.Error](e); ok {
				t.Fatalf("panic: %v\n%s", bug.Value, bug.Stack)
			}
		}
		for _, r := range append(RefusalsOf(err), RefusalsOf(res.Refused)...) {
			if r.Field == "" || r.Rule == "" || r.Message == "" {
				t.Errorf("a refusal has no message: %+v", r)
			}
		}
	}
	if d := cmp.Diff(wasNext, next) + cmp.Diff(wasPrev, prev); d != "" {
		t.Errorf("the input was changed: %s", d)
	}
	filled, err := p.Run(context.Background(), Input{Desired: next, Cluster: f}, Fill)
	if err != nil {
		return
	}
	again, err := p.Run(context.Background(), Input{Desired: filled.Spec, Applied: filled.Spec, Cluster: f}, Check)
	if err != nil {
		t.Fatalf("what is filled is refused as a change of itself: %v", err)
	}
	if d := cmp.Diff(filled.Spec, again.Spec); d != "" {
		t.Errorf("filling twice is not filling once: %s", d)
	}
}

func text(t testing.TB, s *operatorv1.NetworkSpec) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func seedSpecs() []*operatorv1.NetworkSpec {
	return []*operatorv1.NetworkSpec{
		spec(), spec(mtu(1400), defaults(true)), spec(typed(ovn), dualStack), spec(typed(ovn), announced, podPools("10.0.0.0/16 24", "10.1.0.0/16 24")),
		spec(typed("calico"), podPools("10.0.0.0/8")), spec(typed("openshiftsdn"), func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.OpenShiftSDNConfig = &osv1.OpenShiftSDNConfig{Mode: "networkpolicy"}
			s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{{Name: "a", Type: "simplemacvlan", SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{}}}
			s.KubeProxyConfig = &osv1.ProxyConfig{ProxyArguments: map[string]osv1.ProxyArgumentList{"a": {"b"}}}
		}),
	}
}

// TestRandomEditsNeverPanic edits the JSON of good specifications at random: the mistakes of people, not of bits.
func TestRandomEditsNeverPanic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seeds := seedSpecs()
	for range 1500 {
		edited := func() *operatorv1.NetworkSpec {
			var tree any
			if err := json.Unmarshal([]byte(text(t, seeds[rng.IntN(len(seeds))])), &tree); err != nil {
				t.Fatal(err)
			}
			for range 1 + rng.IntN(3) {
				tree = mutate(rng, tree)
			}
			raw, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			out := &operatorv1.NetworkSpec{}
			if json.Unmarshal(raw, out) != nil {
				return spec()
			}
			return out
		}
		holds(t, edited(), edited())
	}
}

// mutate replaces, removes or doubles one value somewhere in a tree of JSON.
func mutate(rng *rand.Rand, v any) any {
	words := []any{
		nil, "", "nonsense", "10.128.0.0/14", "10.128.0.5/14", "10.0.0.0/0", "fd00::/8", "0.0.0.0/0", "172.30.0.0/16", "/", "::/128",
		0, 1, 31, 32, 33, 64, 127, 4294967295, true, []any{}, map[string]any{}, "Flannel", "OVNKubernetes", "Calico", "Kuryr", "Flanel",
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || rng.IntN(8) == 0 {
			return words[rng.IntN(len(words))]
		}
		// The order of maps is random: look for the chosen key in the order of its name.
		keys := slices.Sorted(maps.Keys(v))
		key := keys[rng.IntN(len(keys))]
		if rng.IntN(6) == 0 {
			delete(v, key)
			return v
		}
		v[key] = mutate(rng, v[key])
		return v
	case []any:
		if len(v) == 0 || rng.IntN(8) == 0 {
			return words[rng.IntN(len(words))]
		}
		i := rng.IntN(len(v))
		switch rng.IntN(4) {
		case 0:
			return append(v, v[i])
		case 1:
			return append(v[:i], v[i+1:]...)
		}
		v[i] = mutate(rng, v[i])
		return v
	}
	return words[rng.IntN(len(words))]
}
