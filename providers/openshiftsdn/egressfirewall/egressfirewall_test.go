package egressfirewall_test

import (
	"fmt"
	"strings"
	"testing"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressfirewall"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		why, kind, cidr, name string
		want, fault           string
	}{
		{"a network", "Deny", "198.51.100.0/24", "", "true 198.51.100.0/24 ", ""},
		{"host bits, as in old manifests", "Allow", "198.51.100.7/24", "", "false 198.51.100.0/24 ", ""},
		{"everything, as in old manifests", "Deny", "0.0.0.0/32", "", "true 0.0.0.0/0 ", ""},
		{"a name", "Allow", "", "example.test", "false invalid Prefix example.test", ""},
		{"a name with the dot of the root and a capital letter", "Allow", "", "Example.test.", "false invalid Prefix Example.test.", ""},
		{"what only begins with Allow counts as Deny", "Allowed", "198.51.100.0/24", "", "true 198.51.100.0/24 ", `spec.egress[0].type: "Allowed" is neither Allow nor Deny; it counts as Deny`},
		{"no selector", "Deny", "", "", "true invalid Prefix ", "spec.egress[0].to: needs one of cidrSelector and dnsName; the rule matches nothing"},
		{"two selectors", "Deny", "198.51.100.0/24", "example.test", "true invalid Prefix ", "spec.egress[0].to: needs one of cidrSelector and dnsName; the rule matches nothing"},
		{"IPv6", "Deny", "fd00::/8", "", "true invalid Prefix ", `spec.egress[0].to.cidrSelector: "fd00::/8" is not an IPv4 network; the rule matches nothing`},
		{"no network", "Deny", "everything", "", "true invalid Prefix ", `spec.egress[0].to.cidrSelector: "everything" is not an IPv4 network; the rule matches nothing`},
		{"a malformed name", "Deny", "", "exa mple..test", "true invalid Prefix ", `spec.egress[0].to.dnsName: "exa mple..test" is not a DNS name; the rule matches nothing`},
	} {
		p := &sdnv1.EgressNetworkPolicy{Spec: sdnv1.EgressNetworkPolicySpec{Egress: []sdnv1.EgressNetworkPolicyRule{
			{Type: sdnv1.EgressNetworkPolicyRuleType(row.kind), To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: row.cidr, DNSName: row.name}},
		}}}
		rules, faults := egressfirewall.Read(p)
		if len(rules) != 1 {
			t.Fatalf("%s: %d rules", row.why, len(rules))
		}
		if got := fmt.Sprint(rules[0].Deny, " ", rules[0].Network, " ", rules[0].Name); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
		if got := strings.Join(faults, "; "); got != row.fault {
			t.Errorf("%s: the fault is %q, want %q", row.why, got, row.fault)
		}
	}
	many := &sdnv1.EgressNetworkPolicy{Spec: sdnv1.EgressNetworkPolicySpec{Egress: make([]sdnv1.EgressNetworkPolicyRule, egressfirewall.MaxRules+1)}}
	if _, faults := egressfirewall.Read(many); !strings.Contains(faults[0], "spec.egress: has 1001 rules and may have 1000") {
		t.Errorf("too many rules: %q", faults[0])
	}
}
