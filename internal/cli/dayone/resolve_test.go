package dayone_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

const uplinkPolicy = `capture:
  default: routes.running.destination == "0.0.0.0/0"
  uplink: interfaces.name == capture.default.routes.running.0.next-hop-interface
desiredState:
  interfaces:
  - {name: br1, type: linux-bridge, state: up, copy-mac-from: "{{ capture.uplink.interfaces.0.name }}", bridge: {port: [{name: "{{ capture.uplink.interfaces.0.name }}"}]}}
`

// shownState has a key that this project does not know.
const shownState = `interfaces:
- {name: eno7, type: ethernet, state: up, of-the-future: 1}
routes: {running: [{destination: 0.0.0.0/0, next-hop-interface: eno7, next-hop-address: 192.0.2.1}]}
`

func TestAPolicyIsResolvedWithTheStateOfAnotherHost(t *testing.T) {
	f := newDirectory(t)
	f.write("p.yml", uplinkPolicy)
	f.write("state.yml", shownState)
	f.write("none.yml", "interfaces: []\n")
	f.write("nns.yml", "kind: NodeNetworkState\nstatus:\n  currentState:\n    "+strings.ReplaceAll(shownState, "\n", "\n    ")+"\n")
	f.write("several/worker-0.yml", uplinkPolicy)
	f.write("several/cluster.yml", strings.ReplaceAll(uplinkPolicy, "br1", "br2"))
	for _, row := range []struct {
		why    string
		stdin  string
		args   []string
		status int
		has    string
	}{
		{"the output of nmstatectl show", "", []string{"@p.yml", "--current", "@state.yml"}, exit.OK, "- name: eno7\n"},
		{"captures are comments", "", []string{"-f", "@p.yml", "--current", "@state.yml"}, exit.OK, "# capture uplink\n#   interfaces:\n#   - name: eno7\n"},
		{"a NodeNetworkState", "", []string{"@p.yml", "--current", "@nns.yml"}, exit.OK, "copy-mac-from: eno7"},
		{"a state on standard input", shownState, []string{"@p.yml", "--current", "-"}, exit.OK, "name: br1"},
		{"a file of a directory", "", []string{"@several", "--host", "worker-0", "--current", "@state.yml"}, exit.OK, "name: br1"},
		{"the file of all other hosts", "", []string{"@several", "--host", "worker-1", "--current", "@state.yml"}, exit.OK, "name: br2"},
		{"a directory without a host", "", []string{"@several", "--current", "@state.yml"}, exit.Unusable, "there are 2 documents; name the host"},
		{"a host without a default route", "", []string{"@p.yml", "--current", "@none.yml"}, exit.Refused, "p.yml:3: capture.uplink: refers to routes of capture.default, which found nothing on this host"},
		{"captures that were found despite the error", "", []string{"@p.yml", "--current", "@none.yml"}, exit.Refused, "# capture default\n#   nothing\n"},
		{"an invalid state", "", []string{"@p.yml", "--current", "@p.yml"}, exit.Unusable, "has no interfaces"},
		{"missing state", "", []string{"@p.yml"}, exit.Unusable, "current live"},
		{"both on standard input", "", []string{"-", "--current", "-"}, exit.Unusable, "either the policy or the state"},
		{"an invalid policy", "capture: {a: links}\n", []string{"-", "--current", "@state.yml"}, exit.Refused, `begins with "links"`},
	} {
		status, out, stderr := f.call(row.stdin, append([]string{"resolve"}, row.args...)...)
		if status != row.status || !strings.Contains(out+stderr, row.has) {
			t.Errorf("%s: status %d\n%s%s", row.why, status, out, stderr)
		}
	}
	_, out, _ := f.call("", "resolve", "@p.yml", "--current", "@state.yml", "-o", "json")
	var got struct {
		Captures []struct{ Name string }
		Document struct{ Interfaces []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Captures) != 2 || got.Document.Interfaces[0].Name != "br1" {
		t.Errorf("%v: %s", err, out)
	}
	_, out, _ = f.call("", "resolve", "@p.yml", "--current", "@state.yml")
	f.write("resolved.yml", out)
	if status, out, stderr := f.call("", "validate", "@resolved.yml", "--without-bridge"); status != exit.OK {
		t.Errorf("the output is not a document: %s%s", out, stderr)
	}
}
