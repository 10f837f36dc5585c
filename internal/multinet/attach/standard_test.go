package attach

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// passed is what a plugin was called with.
type passed struct {
	Call, Container, Name, Version string
	Runtime                        map[string]any
}

// recorded has the plugins keep what they were called with.
func recorded(f *fixture) func() []passed {
	f.t.Helper()
	dir := f.t.TempDir()
	f.scripted(scripts, `n=$(ls `+dir+` | wc -l); { echo "$call $CNI_CONTAINERID"; cat; } >`+dir+`/$(printf %03d $n)`)
	return func() (all []passed) {
		f.t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			f.t.Fatal(err)
		}
		slices.Sort(files)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.t.Fatal(err)
			}
			head, body, _ := strings.Cut(string(raw), "\n")
			var conf struct {
				Name          string
				CNIVersion    string
				RuntimeConfig map[string]any
			}
			if err := json.Unmarshal([]byte(body), &conf); err != nil {
				f.t.Fatalf("%v: %s", err, body)
			}
			words := strings.Fields(head)
			all = append(all, passed{words[0] + " " + words[1], words[2], conf.Name, conf.CNIVersion, conf.RuntimeConfig})
		}
		return all
	}
}

// TestArgumentsOfKubernetesAreForTheDefaultNetworkOnly: host ports and bandwidth of the pod are not those of its further networks, also where these
// declare the capability.
func TestArgumentsOfKubernetesAreForTheDefaultNetworkOnly(t *testing.T) {
	f := newFixture(t)
	calls := recorded(f)
	f.own = `{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"default","capabilities":{"portMappings":true,"bandwidth":true}}]}`
	further := wire.Attachment{Network: "ns/a", Interface: "net1", List: json.RawMessage(
		`{"cniVersion":"1.0.0","name":"a","plugins":[{"type":"further","capabilities":{"portMappings":true,"bandwidth":true,"mac":true}}]}`), Runtime: map[string]any{"mac": "02:00:00:00:00:01"}}
	f.plan.Attachments = []wire.Attachment{further}
	ports := []any{map[string]any{"hostPort": 8080.0, "containerPort": 80.0, "protocol": "tcp"}}
	r := f.passing(cniproto.Add, map[string]any{delegate.CapabilityAnnotations: annotated, "portMappings": ports, "bandwidth": map[string]any{"ingressRate": 1000.0}})
	if _, err := f.shim.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := []passed{
		{"ADD eth0", "c1", "pods", "1.0.0", map[string]any{"portMappings": ports, "bandwidth": map[string]any{"ingressRate": 1000.0}}},
		{"ADD net1", "c1", "a", "1.0.0", map[string]any{"mac": "02:00:00:00:00:01"}},
	}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Error(diff)
	}
}

// TestAnotherDefaultNetworkGetsWhatItsAnnotationRequests, besides what Kubernetes passes to every default network; the annotation takes precedence.
func TestAnotherDefaultNetworkGetsWhatItsAnnotationRequests(t *testing.T) {
	f := newFixture(t)
	calls := recorded(f)
	const info = `{"type":"pci","version":"1.1.0"}`
	f.plan = wire.Plan{Default: &wire.Attachment{Network: "openshift-multus/other", List: json.RawMessage(
		`{"cniVersion":"1.0.0","name":"other","plugins":[{"type":"further","capabilities":{"portMappings":true,"mac":true,"ips":true}}]}`),
		Runtime: map[string]any{"mac": "02:00:00:00:00:01", "ips": []string{"192.0.2.9/24"}}, Resource: "example.com/nic", DeviceID: "0000:00:01.0"}}
	file := filepath.Join(f.shim.DeviceInfo, "dp", "example.com-nic-0000:00:01.0-device.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(info), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := []any{map[string]any{"hostPort": 8080.0, "containerPort": 80.0, "protocol": "tcp"}}
	fallback := map[string]string{wire.AnnotationDefault: "other"}
	r := f.passing(cniproto.Add, map[string]any{delegate.CapabilityAnnotations: fallback, "portMappings": ports, "mac": "02:00:00:00:00:02"})
	if _, err := f.shim.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	f.must(cniproto.Delete, fallback)
	runtime := map[string]any{"portMappings": ports, "mac": "02:00:00:00:00:01", "ips": []any{"192.0.2.9/24"}}
	if diff := cmp.Diff([]passed{{"ADD eth0", "c1", "other", "1.0.0", runtime}, {"DEL eth0", "c1", "other", "1.0.0", runtime}}, calls()); diff != "" {
		t.Error(diff)
	}
	if got := f.reports[0].Networks[0]; got.Name != "openshift-multus/other" || got.DeviceID != "0000:00:01.0" || string(got.DeviceInfo) != info {
		t.Errorf("reported: %+v", got)
	}
}

// TestTheSameNetworkTwiceIsTwoAttachments with the same container, network name and interface for every operation on each.
func TestTheSameNetworkTwiceIsTwoAttachments(t *testing.T) {
	f := newFixture(t)
	calls := recorded(f)
	f.plan.Attachments = []wire.Attachment{attachment("ns/a", "net1", "further"), attachment("ns/a", "net2", "further")}
	f.must(cniproto.Add, annotated)
	f.must(cniproto.Delete, annotated)
	var got []string
	for _, c := range calls() {
		got = append(got, strings.Join([]string{c.Call, c.Container, c.Name, c.Version}, " "))
	}
	want := []string{"ADD eth0 c1 pods 1.0.0", "ADD net1 c1 ns-a 1.0.0", "ADD net2 c1 ns-a 1.0.0", "DEL net2 c1 ns-a 1.0.0", "DEL net1 c1 ns-a 1.0.0", "DEL eth0 c1 pods 1.0.0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(f.reports) != 1 || len(f.reports[0].Networks) != 3 || f.reports[0].Networks[1].Interface != "net1" || f.reports[0].Networks[2].Interface != "net2" {
		t.Errorf("%+v", f.reports)
	}
}

// TestPluginsOfAPodRunOneAfterTheOther, also when the runtime calls for one sandbox several times at once.
func TestPluginsOfAPodRunOneAfterTheOther(t *testing.T) {
	f := newFixture(t)
	busy := filepath.Join(t.TempDir(), "busy")
	f.scripted(scripts, `mkdir `+busy+` || { echo "two at once" >&2; exit 1; }; sleep 0.02; rmdir `+busy)
	var group sync.WaitGroup
	errs := make([]error, 6)
	requests := []cniproto.Request{f.request(cniproto.Add, annotated), f.request(cniproto.Delete, annotated)}
	f.must(cniproto.Add, annotated)
	f.shim.Ask = (&locked{ask: f.shim.Ask}).do
	for i := range errs {
		group.Go(func() { _, errs[i] = f.shim.Do(t.Context(), requests[i%2]) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestTheResultHasTheVersionOfTheConfiguration that the runtime has passed.
func TestTheResultHasTheVersionOfTheConfiguration(t *testing.T) {
	for _, version := range []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
		f := newFixture(t)
		f.scripted(scripts, "")
		r := f.request(cniproto.Add, annotated)
		r.Config = []byte(strings.Replace(string(r.Config), `"cniVersion":"1.0.0","delegate"`, `"cniVersion":"`+version+`","delegate"`, 1))
		out, err := f.shim.Do(t.Context(), r)
		if err != nil || !strings.Contains(string(out), `"cniVersion":"`+version+`"`) {
			t.Errorf("%s: %s %v", version, out, err)
		}
	}
}

// TestStatusIsThatOfTheDefaultNetwork: a node is ready when its default network is, also while the daemon is unavailable.
func TestStatusIsThatOfTheDefaultNetwork(t *testing.T) {
	f := newFixture(t)
	broken := filepath.Join(t.TempDir(), "broken")
	f.scripted(scripts, `[ "$CNI_COMMAND" = STATUS ] && [ -e `+broken+` ] && { echo '{"cniVersion":"1.1.0","code":50,"msg":"no bridge"}'; exit 1; }`)
	f.own = `{"cniVersion":"1.1.0","name":"pods","plugins":[{"type":"default"}]}`
	f.planErr = cniproto.Errorf(cniproto.CodeTryAgain, "the daemon is unavailable")
	r := f.request(cniproto.Status, nil)
	if _, err := f.shim.Do(t.Context(), r); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.shim.Do(t.Context(), r); err == nil || !strings.Contains(err.Error(), "no bridge") {
		t.Errorf("%v", err)
	}
}

// TestPoliciesAreInForceBeforeTheFirstFurtherInterface while the default network does not wait for them. An error of the daemon fails the ADD.
func TestPoliciesAreInForceBeforeTheFirstFurtherInterface(t *testing.T) {
	f := newFixture(t)
	all, former := f.scripted(scripts, ""), 0
	calls := func() []string { return all()[former:] }
	f.plan.Policies = true
	ask, failure := f.shim.Ask, error(nil)
	f.shim.Ask = func(ctx context.Context, command string, message, into any) error {
		if command == wire.CommandPolicies {
			for !slices.Contains(calls(), "ADD eth0") {
				select {
				case <-ctx.Done():
					return errors.New("the default network waits for the rules of policies")
				case <-time.After(time.Millisecond):
				}
			}
			if got := calls(); slices.Contains(got, "ADD net1") {
				t.Errorf("a further network was attached before the rules of policies were written: %q", got)
			}
			if failure != nil {
				return failure
			}
		}
		return ask(ctx, command, message, into)
	}
	f.must(cniproto.Add, annotated)
	if diff := cmp.Diff([]string{"ADD eth0", "ADD net1", "ADD net2"}, calls()); diff != "" {
		t.Error(diff)
	}
	f.must(cniproto.Delete, annotated)

	former = len(calls())
	failure = cniproto.Errorf(cniproto.CodeTryAgain, "the policies are not read yet")
	if _, err := f.do(cniproto.Add, annotated); cniproto.AsError(err).Code != cniproto.CodeTryAgain {
		t.Errorf("without the rules of policies: %v", err)
	}
	if got := calls(); slices.Contains(got, "ADD net1") {
		t.Errorf("a further network was attached without the rules of policies: %q", got)
	}
	if left := f.files("sandboxes"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestCHECKVerifiesTheRulesOfPolicies where they were written.
func TestCHECKVerifiesTheRulesOfPolicies(t *testing.T) {
	for _, policies := range []bool{false, true} {
		f := real(t)
		f.plan = wire.Plan{Policies: policies, Attachments: []wire.Attachment{{Network: "ns/a", Interface: "net1", List: json.RawMessage(
			`{"cniVersion":"1.0.0","name":"a","plugins":[{"type":"macvlan","master":"up0","ipam":{"type":"static","addresses":[{"address":"192.0.2.9/24"}]}}]}`)}}}
		f.must(cniproto.Add, annotated)
		f.must(cniproto.Check, annotated)
		if got := slices.Contains(f.asked, wire.CommandCheckPolicies); got != policies {
			t.Errorf("policies %v: %q", policies, f.asked)
		}
		f.planErr = cniproto.Errorf(cniproto.CodeInternal, "a third party has changed the rules")
		if _, err := f.do(cniproto.Check, annotated); (err != nil) != policies {
			t.Errorf("policies %v: %v", policies, err)
		}
	}
}
