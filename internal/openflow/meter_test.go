package openflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// TestRatesAreKeptInTheText: a set that an earlier process wrote has its meters, which are comments in a file of flows.
func TestRatesAreKeptInTheText(t *testing.T) {
	s, err := openflow.NewSet(openflow.Flow{Table: 20, Actions: []openflow.Action{openflow.Meter(25), openflow.Goto(27)}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Rates() != nil || openflow.Verbatim(s.String()).Rates() != nil {
		t.Error("a set without meters has some")
	}
	rates := []openflow.Rate{{ID: 24, Kilobits: 10_000, Burst: 2_500}, {ID: 25, Kilobits: 4_294_967_295, Burst: 64}}
	s = s.WithRates(rates[1], rates[0])
	const text = "# meter 24 10000 2500\n# meter 25 4294967295 64\ntable=20,priority=0 actions=meter:25,goto_table:27\n"
	if diff := cmp.Diff(text, s.String()); diff != "" {
		t.Error(diff)
	}
	for what, one := range map[string]openflow.Set{"computed": s, "read": openflow.Verbatim(text)} {
		if diff := cmp.Diff(rates, one.Rates()); diff != "" || one.Len() != 1 {
			t.Errorf("%s: %d flows, %s", what, one.Len(), diff)
		}
	}
	if got := openflow.Verbatim("# meter 24 99999999999 1\ntable=0 actions=drop\n").Rates(); got != nil {
		t.Errorf("a number that no meter has: %v", got)
	}
	if got := rates[0].String(); got != "meter=24,kbps,burst,bands=type=drop,rate=10000,burst_size=2500" {
		t.Errorf("the meter is %s", got)
	}
}
