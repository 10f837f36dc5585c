package bandwidth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/bandwidth"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		why, ingress, egress string
		want                 bandwidth.Limits
		bad                  []string
	}{
		{"none", "", "", bandwidth.Limits{}, nil},
		{"one direction", "10M", "", bandwidth.Limits{Ingress: 10_000}, nil},
		{"both", "1.5G", "1M", bandwidth.Limits{Ingress: 1_500_000, Egress: 1_000}, nil},
		{"the least", "1k", "1000", bandwidth.Limits{Ingress: 1, Egress: 1}, nil},
		{"the most", "1P", "", bandwidth.Limits{Ingress: 1_000_000_000_000}, nil},
		{"a part of a kilobit counts as one", "1001", "", bandwidth.Limits{Ingress: 2}, nil},
		{"too little", "999", "", bandwidth.Limits{}, []string{`annotation kubernetes.io/ingress-bandwidth is "999", and must be 1k to 1P`}},
		{"too much", "", "2P", bandwidth.Limits{}, []string{`kubernetes.io/egress-bandwidth is "2P"`}},
		{"all that is wrong at once", "fast", "-1", bandwidth.Limits{}, []string{`"fast"`, `"-1"`}},
		{"a value that no number holds", "1" + strings.Repeat("0", 40), "", bandwidth.Limits{}, []string{"must be 1k to 1P"}},
	} {
		annotations := map[string]string{}
		for name, text := range map[string]string{bandwidth.AnnotationIngress: row.ingress, bandwidth.AnnotationEgress: row.egress} {
			if text != "" {
				annotations[name] = text
			}
		}
		got, err := bandwidth.Read(annotations)
		if got != row.want || (err != nil) != (row.bad != nil) {
			t.Errorf("%s: %+v, %v", row.why, got, err)
		}
		for _, want := range row.bad {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %q is missing in %v", row.why, want, err)
			}
		}
	}
}
