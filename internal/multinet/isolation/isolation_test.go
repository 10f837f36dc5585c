package isolation

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

func TestNetworksThatPodsMayUse(t *testing.T) {
	isolated := Of(&operatorv1.MultiNetworkConfig{NamespaceIsolation: new(true), GlobalNamespaces: []string{"default", "shared"}})
	for _, row := range []struct {
		why     string
		rule    Rule
		network string
		want    bool
	}{
		{"the pods' own namespace", isolated, "shop/lan", true},
		{"a global namespace", isolated, "shared/lan", true},
		{"another namespace", isolated, "bank/lan", false},
		{"a name that begins like the own one", isolated, "shop2/lan", false},
		{"no namespace", isolated, "lan", false},
		{"without isolation", Of(&operatorv1.MultiNetworkConfig{NamespaceIsolation: new(false)}), "bank/lan", true},
		{"a specification without defaults", Of(nil), "bank/lan", true},
	} {
		if again := FromData(row.rule.Data()); again.Permits("shop", "bank") != row.rule.Permits("shop", "bank") || again.Permits("shop", "shared") != row.rule.Permits("shop", "shared") {
			t.Errorf("%s: %+v is not its data: %+v", row.why, row.rule, again)
		}
		errs := row.rule.Check(field.NewPath("at"), "shop", row.network)
		if (len(errs) == 0) != row.want {
			t.Errorf("%s: %v", row.why, errs)
		}
		if text := errs.ToAggregate(); text != nil && (!strings.HasPrefix(text.Error(), "at: ") || !strings.Contains(text.Error(), row.network)) {
			t.Errorf("%s: %v names neither field nor network", row.why, text)
		}
	}
}
