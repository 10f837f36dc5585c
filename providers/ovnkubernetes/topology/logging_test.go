package topology_test

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func TestDecodeLogging(t *testing.T) {
	for _, tc := range []struct {
		why, value string
		want       topology.Logging
		problem    string
	}{
		{"none", "", topology.Logging{}, ""},
		{"an empty object", "{}", topology.Logging{}, ""},
		{"both", `{"deny":"alert","allow":"notice"}`, topology.Logging{Deny: "alert", Allow: "notice"}, ""},
		{"one is off", `{"deny":"debug","allow":""}`, topology.Logging{Deny: "debug"}, ""},
		{"no JSON", "alert", topology.Logging{}, `"alert" is not an object of strings`},
		{"a number", `{"deny":1}`, topology.Logging{}, "is not an object of strings"},
		{"a severity of syslog that OVN does not have; the other one applies", `{"deny":"emerg","allow":"info"}`, topology.Logging{Allow: "info"}, `deny: "emerg" is not one of alert, warning, notice, info, debug`},
		{"another word", `{"drop":"alert"}`, topology.Logging{}, `"drop" is neither allow nor deny`},
	} {
		got, err := topology.DecodeLogging(tc.value)
		if got != tc.want || (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
			t.Errorf("%s: %+v, %v; want %+v and %q", tc.why, got, err, tc.want, tc.problem)
		}
	}
}
