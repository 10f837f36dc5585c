package netlinkovs

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func TestAttributesOfRoutesAreRefusedBeforeAnythingChanges(t *testing.T) {
	for _, c := range []struct {
		route string
		want  int
	}{
		{"{destination: 0.0.0.0/0, next-hop-interface: a, mtu: 1400}", 1},
		{"{destination: 0.0.0.0/0, next-hop-interface: a, cwnd: 20}", 1},
		{"{destination: 0.0.0.0/0, next-hop-interface: a, metric: 5}", 0},
		{"{state: absent, next-hop-interface: a, mtu: 1400}", 0},
	} {
		doc, problems := nmstate.Parse("d.yml", []byte("routes: {config: ["+c.route+"]}"))
		if doc == nil {
			t.Fatal(problems)
		}
		if got := Unsupported(doc); len(got) != c.want || c.want > 0 && !strings.Contains(got[0].Error(), "routes.config[0]") {
			t.Errorf("%s: %v", c.route, got)
		}
	}
}
