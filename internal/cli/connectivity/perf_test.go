package connectivity

import (
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/perf"
)

func TestPathsAreMeasuredInEachFamilyThatPodsHave(t *testing.T) {
	for _, row := range []struct {
		why      string
		from, to string
		target   perfTarget
		want     []string
	}{
		{"one family", "a", "b", perfTarget{far: []string{"10.0.2.2"}, near: []string{"10.0.1.2"}, host: []string{"192.0.2.2", "2001:db8::2"}, service: []string{"10.96.0.9"}}, []string{
			"node a -> node b IPv4 192.0.2.2:19878", "pod on a -> pod on b IPv4 10.0.2.2:19878", "pod on a -> service of the pod on b IPv4 10.96.0.9:19878",
			"pod on a -> pod on a IPv4 10.0.1.2:19878", "node a -> node b IPv6 [2001:db8::2]:19878"}},
		{"one node has no path between nodes", "a", "a", perfTarget{far: []string{"10.0.1.3"}, near: []string{"10.0.1.2"}, host: []string{"192.0.2.1"}, service: []string{"10.96.0.9"}}, []string{
			"pod on a -> service of the pod on a IPv4 10.96.0.9:19878", "pod on a -> pod on a IPv4 10.0.1.2:19878"}},
		{"a server that did not start is not measured", "a", "b", perfTarget{near: []string{"fd00:1::2"}, host: []string{"2001:db8::2"}}, []string{
			"node a -> node b IPv6 [2001:db8::2]:19878", "pod on a -> pod on a IPv6 [fd00:1::2]:19878"}},
	} {
		var got []string
		for _, m := range measurements(row.from, row.to, row.target) {
			got = append(got, m.name+" "+m.family+" "+m.address)
			if m.onHost != strings.HasPrefix(m.name, "node ") || m.own != m.onHost {
				t.Errorf("%s: %+v", row.why, m)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s:\n%q\nwant\n%q", row.why, got, row.want)
		}
	}
}

func TestAPathOfPodsIsComparedWithThatOfNodes(t *testing.T) {
	own := &perf.Result{Gbps: 50, RTTp50: 10}
	pods := measuredPath{Path: "pods", Family: "IPv4", Result: &perf.Result{Gbps: 45, RTTp50: 15, RTTp99: 30, Connections: 9000}}.beside(own, false)
	if pods.ThroughputPercent != 90 || pods.RoundTripFactor != 1.5 {
		t.Errorf("%+v", pods)
	}
	if alone := (measuredPath{Result: own}).beside(own, true); alone.ThroughputPercent != 0 {
		t.Errorf("%+v", alone)
	}
	failed := measuredPath{Path: "broken", Family: "IPv4", Error: "i/o timeout"}.beside(own, false)
	var text strings.Builder
	if err := (perfReport{Paths: []measuredPath{pods, failed}, Notes: []string{"n"}, Seconds: 1}).print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"45.00 Gbit/s", "90 %", "1.50", "9000/s", "FAIL: i/o timeout", "note  n", "measured in 1.0 s"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}

func TestInvalidArgumentsOfPerfAreRefused(t *testing.T) {
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"--node", "a", "--node", "b", "--node", "c"}, "--node is given 3 times"},
		{[]string{"--for", "1ms"}, "--for 1ms is not between 100ms and 1m0s"},
		{[]string{"--for", "2m"}, "--for 2m0s is not between"},
	} {
		cmd := perfCommand()
		cmd.SetArgs(row.args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v", row.args, err)
		}
	}
}
