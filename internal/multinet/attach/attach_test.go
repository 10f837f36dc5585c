package attach

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

var scripts = []string{"default", "further"}

func TestPodWithoutFurtherNetworksNeedsNoDaemon(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.planErr = errors.New("the daemon is away")
	for _, annotations := range []map[string]string{{}, {"other": "x"}, {wire.AnnotationNetworks: " "}} {
		f.must(cniproto.Add, annotations)
		f.must(cniproto.Delete, annotations)
	}
	if len(f.asked) > 0 {
		t.Errorf("the daemon was asked: %v", f.asked)
	}
	if diff := cmp.Diff([]string{"ADD eth0", "DEL eth0"}, calls()[:2]); diff != "" {
		t.Error(diff)
	}
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestNetworksAreAttachedInOrderAndDetachedInReverse(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.must(cniproto.Add, annotated)
	if diff := cmp.Diff([]string{"c1.complete", "c1.json"}, f.files("sandboxes")); diff != "" {
		t.Error(diff)
	}
	saved, err := ReadSaved(f.shim.State)
	if err != nil || len(saved) != 1 || saved[0].Pod != (wire.Pod{Namespace: "ns", Name: "pod", UID: "u1"}) || len(saved[0].Networks) != 3 || saved[0].Networks[1].Name != "ns/a" {
		t.Errorf("saved: %+v %v", saved, err)
	}
	f.planErr = errors.New("the daemon is away")
	f.plan = wire.Plan{}
	own := f.own
	f.own = `{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"changed-meanwhile"}]}`
	f.must(cniproto.Delete, annotated)
	want := []string{"ADD eth0", "ADD net1", "ADD net2", "DEL net2", "DEL net1", "DEL eth0"}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Error(diff)
	}
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	f.own = own
	f.must(cniproto.Delete, annotated) // which may be repeated, by the list of the file that there is then
}

func TestWithoutTheDaemonNoPodStartsWithoutItsNetworks(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.planErr = cniproto.Errorf(cniproto.CodeTryAgain, "no answer")
	for why, annotations := range map[string]map[string]string{
		"it asks for networks": annotated, "it asks for another default network": {wire.AnnotationDefault: "x"}, "the runtime passes no annotations": nil,
	} {
		if _, err := f.do(cniproto.Add, annotations); err == nil || cniproto.AsError(err).Code != cniproto.CodeTryAgain {
			t.Errorf("%s: %v", why, err)
		}
	}
	if got := calls(); len(got) > 1 || got[0] != "" {
		t.Errorf("plugins ran: %v", got)
	}
}

func TestFailureIsRolledBackAndNamesNetworkAndPlugin(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, `[ "$call" = "ADD net2" ] && { echo '{"cniVersion":"1.0.0","code":103,"msg":"no address left"}'; exit 1; }`)
	_, err := f.do(cniproto.Add, annotated)
	if e := cniproto.AsError(err); e == nil || e.Code != 103 || !strings.Contains(e.Message, "ns/b (interface net2)") || !strings.Contains(e.Message, `"further"`) || !strings.Contains(e.Message, "no address left") {
		t.Errorf("%+v", err)
	}
	want := []string{"ADD eth0", "ADD net1", "ADD net2", "DEL net2", "DEL net1", "DEL eth0"}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Error(diff)
	}
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if len(f.reports) != 1 || !strings.Contains(f.reports[0].Failure, "no address left") {
		t.Errorf("reports: %+v", f.reports)
	}
}

func TestAStatusThatCannotBeWrittenFailsThePod(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.reportErr = cniproto.Errorf(cniproto.CodeTryAgain, "forbidden")
	if _, err := f.do(cniproto.Add, annotated); err == nil {
		t.Error("it starts")
	}
	if got := calls(); got[len(got)-1] != "DEL eth0" {
		t.Errorf("%v", got)
	}
}

// One plugin that fails does not spare the others, and what is left is tried again.
func TestIncompleteDELIsAnError(t *testing.T) {
	f := newFixture(t)
	broken := filepath.Join(t.TempDir(), "broken")
	calls := f.scripted(scripts, `[ "$call" = "DEL net2" ] && [ -e `+broken+` ] && { echo 'not now' >&2; exit 1; }`)
	f.must(cniproto.Add, annotated)
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.do(cniproto.Delete, annotated); err == nil || !strings.Contains(err.Error(), "ns/b (interface net2)") || !strings.Contains(err.Error(), "not now") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff([]string{"DEL net2", "DEL net1", "DEL eth0"}, calls()[3:]); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	f.must(cniproto.Delete, annotated)
	if left := f.files("sandboxes"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestMissingPluginBlocksDELForFiveMinutes(t *testing.T) {
	f := newFixture(t)
	f.scripted(scripts, "")
	now := time.Now()
	f.shim.Now = func() time.Time { return now }
	f.must(cniproto.Add, annotated)
	if err := os.Remove(filepath.Join(f.path, "further")); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, time.Minute, 3 * time.Minute} {
		now = now.Add(after)
		if _, err := f.do(cniproto.Delete, annotated); err == nil || !strings.Contains(err.Error(), `no CNI plugin "further"`) {
			t.Errorf("after %s: %v", after, err)
		}
	}
	now = now.Add(time.Minute)
	f.must(cniproto.Delete, annotated)
	if last := f.reports[len(f.reports)-1].Failure; !strings.Contains(last, "without its plugins") {
		t.Errorf("report: %s", last)
	}
}

func TestPluginsThatMisbehave(t *testing.T) {
	for _, row := range []struct {
		why, body, want string
		timeout         time.Duration
	}{
		{"prints garbage", `echo garbage; exit 0`, "invalid character", time.Minute},
		{"prints nothing", `exit 0`, "unexpected end", time.Minute},
		{"fails without output", `exit 3`, "without a message", time.Minute},
		{"prints a megabyte", `head -c 1100000 /dev/zero; exit 0`, "more than 1048576", time.Minute},
		{"hangs, with a child", `sleep 600 & sleep 600`, "did not finish in time", 4 * time.Second},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := newFixture(t)
			marker := filepath.Join(t.TempDir(), "pid")
			calls := f.scripted(scripts, `[ "$call" = "ADD net1" ] && { echo $$ >`+marker+"; "+row.body+"; }")
			r := f.request(cniproto.Add, annotated)
			r.Timeout = row.timeout
			_, err := f.shim.Do(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v", err)
			}
			if got := calls(); got[len(got)-1] != "DEL eth0" || len(f.files("sandboxes")) > 0 {
				t.Errorf("not reverted: %v %v", got, f.files("sandboxes"))
			}
			groupEnds(t, marker)
		})
	}
}

// groupEnds waits until the process group whose ID is in a file has no process.
func groupEnds(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "all processes of the plugin have ended", func() (string, bool) {
		out, _ := exec.Command("pgrep", "-g", strings.TrimSpace(string(raw))).Output()
		return string(out), len(bytes.TrimSpace(out)) == 0
	})
}

// TestPluginsThatMisbehaveAtDEL: the other networks are detached, the record is kept, and the following DEL is complete. What a plugin prints when it
// succeeds has no meaning.
func TestPluginsThatMisbehaveAtDEL(t *testing.T) {
	for _, row := range []struct {
		why, body, want string
		timeout         time.Duration
	}{
		{"prints garbage, and fails", `echo garbage; exit 1`, `"garbage`, time.Minute},
		{"prints garbage, and succeeds", `echo garbage; exit 0`, "", time.Minute},
		{"fails without output", `exit 3`, "without a message", time.Minute},
		{"prints a megabyte", `head -c 1100000 /dev/zero; exit 0`, "more than 1048576", time.Minute},
		{"hangs, with a child", `sleep 600 & sleep 600`, "did not finish in time", 8 * time.Second},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := newFixture(t)
			marker := filepath.Join(t.TempDir(), "pid")
			calls := f.scripted(scripts, `[ "$call" = "DEL net1" ] && [ ! -e `+marker+` ] && { echo $$ >`+marker+"; "+row.body+"; }")
			f.must(cniproto.Add, annotated)
			r := f.request(cniproto.Delete, annotated)
			r.Timeout = row.timeout
			_, err := f.shim.Do(t.Context(), r)
			if (err == nil) != (row.want == "") || err != nil && (!strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "ns/a (interface net1)")) {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff([]string{"DEL net2", "DEL net1", "DEL eth0"}, calls()[3:]); diff != "" {
				t.Error(diff)
			}
			groupEnds(t, marker)
			if row.want != "" {
				f.further("ns/pod")
			}
			f.must(cniproto.Delete, annotated)
			if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A shim that is killed at any step leaves a record, by which the DEL or GC that follows removes all that was made.
func TestKilledAtEveryStep(t *testing.T) {
	for _, row := range []struct {
		// command is killed at step, before or after its effect; repaired is the command that follows.
		command, step, repaired string
		// recorded is whether the record of the sandbox still exists then.
		recorded bool
	}{
		{cniproto.Add, "ADD eth0", cniproto.Delete, true},
		{cniproto.Add, "ADD net1", cniproto.Delete, true},
		{cniproto.Add, "ADD net2", cniproto.Delete, true},
		{cniproto.Add, "ADD net1", cniproto.GC, true},
		{cniproto.Delete, "DEL net2", cniproto.Delete, true},
		{cniproto.Delete, "DEL net1", cniproto.Delete, true},
		{cniproto.Delete, "DEL eth0", cniproto.Delete, true},
		{cniproto.GC, "DEL net2", cniproto.GC, true},
		{cniproto.GC, "DEL net1", cniproto.GC, true},
		{cniproto.GC, "DEL eth0", cniproto.GC, true},
		{cniproto.GC, "DEL net1", cniproto.Delete, true},
		{cniproto.GC, "GC ", cniproto.GC, false},
	} {
		for _, when := range []string{"before", "after"} {
			t.Run(row.command+" at "+row.step+" "+when+", "+row.repaired, func(t *testing.T) {
				f := newFixture(t)
				made := t.TempDir()
				once := filepath.Join(made, "killed")
				kill := func(at string) string {
					return fmt.Sprintf(`[ "$call" = %q ] && [ %s = %s ] && [ ! -e %s ] && { touch %s; kill -9 $PPID; sleep 1; }`, row.step, at, when, once, once)
				}
				f.scripted(scripts, strings.Join([]string{
					kill("before"), `[ "$CNI_COMMAND" = ADD ] && touch ` + made + `/$CNI_IFNAME`, `[ "$CNI_COMMAND" = DEL ] && rm -f ` + made + `/$CNI_IFNAME`, kill("after"),
				}, "\n"))
				f.own = `{"cniVersion":"1.1.0","name":"pods","plugins":[{"type":"default"}]}` // with GC
				plan := f.planFile()
				f.process(cniproto.Add, plan)
				if row.command != cniproto.Add {
					f.process(row.command, plan)
				}
				if _, err := os.Stat(once); err != nil {
					t.Fatal("the shim was not killed")
				}
				if row.recorded {
					f.further("ns/pod")
				}
				f.must(row.repaired, annotated)
				left, err := os.ReadDir(made)
				if err != nil || len(left) != 1 || len(f.files("sandboxes")) > 0 {
					t.Errorf("left: %v %v %v", left, f.files("sandboxes"), err)
				}
				f.further()
			})
		}
	}
}

// further fails the test unless these pods are the ones of which something may be left.
func (f *fixture) further(want ...string) {
	f.t.Helper()
	if got, err := PodsWithFurtherNetworks(f.shim.State); err != nil || !slices.Equal(got, want) {
		f.t.Errorf("pods with further networks: %v, expected %v (%v)", got, want, err)
	}
}

// process runs the shim as a process of its own. How it ends is not its concern.
func (f *fixture) process(command, plan string) {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	_ = f.run(self, f.request(command, annotated), plan)
}

// run runs a program that is the shim.
func (f *fixture) run(program string, r cniproto.Request, plan string) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), envShim+"="+f.shim.State, envPlan+"="+plan)
	cmd.Stdin = bytes.NewReader(raw)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", r.Command, r.ContainerID, err, out)
	}
	return nil
}

// planFile is the plan of the fixture for shims that are processes.
func (f *fixture) planFile() string {
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), "plan")
	raw, err := json.Marshal(f.plan)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return file
}

func TestADamagedRecordIsRebuiltFromTheResults(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.plan.Attachments[1].Interface = "data" // which sorts before eth0
	f.must(cniproto.Add, annotated)
	file := filepath.Join(f.shim.State, "sandboxes", "c1.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(raw, []byte(`"ns/b"`), []byte(`"ns/x"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	f.must(cniproto.Delete, annotated)
	if diff := cmp.Diff([]string{"DEL net1", "DEL data", "DEL eth0"}, calls()[3:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c1.json.damaged"}, f.files("sandboxes")); diff != "" {
		t.Error(diff)
	}
	if damaged, err := Damaged(f.shim.State); err != nil || len(damaged) != 1 || damaged[0] != file+".damaged" {
		t.Errorf("damaged records: %q, %v", damaged, err)
	}
}

// After a power failure no runtime calls DEL for sandboxes of the earlier boot, or only much later.
func TestOrphanedAttachmentsAreRemoved(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.must(cniproto.Add, annotated)
	plain := f.request(cniproto.Add, map[string]string{})
	plain.ContainerID = "c2"
	if _, err := f.shim.Do(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	before := len(calls())
	f.must(cniproto.Status, nil)
	if got := calls()[before:]; len(got) > 0 {
		t.Errorf("something of living sandboxes is removed: %v", got)
	}
	// The node restarts.
	netns.Run(t, "ip", "netns", "del", f.pod.Name)
	if err := os.RemoveAll(f.shim.Run); err != nil {
		t.Fatal(err)
	}
	f.must(cniproto.Status, nil)
	if diff := cmp.Diff([]string{"DEL net2", "DEL net1", "DEL eth0", "DEL eth0"}, calls()[before:]); diff != "" {
		t.Error(diff)
	}
	if left := slices.Concat(f.files("sandboxes"), f.files("results")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestGCKeepsValidAttachments(t *testing.T) {
	f := newFixture(t)
	calls := f.scripted(scripts, "")
	f.must(cniproto.Add, annotated)
	other := f.request(cniproto.Add, annotated)
	other.ContainerID = "c2"
	if _, err := f.shim.Do(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	before := len(calls())
	gc := f.request(cniproto.GC, nil)
	gc.Config = []byte(strings.Replace(string(gc.Config), `{`, `{"cni.dev/valid-attachments":[{"containerID":"c2","ifname":"eth0"}],`, 1))
	if _, err := f.shim.Do(t.Context(), gc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"DEL net2", "DEL net1", "DEL eth0"}, calls()[before:]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c2.complete", "c2.json"}, f.files("sandboxes")); diff != "" {
		t.Error(diff)
	}
}
