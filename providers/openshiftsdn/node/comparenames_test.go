package node

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

func TestNamesAreComparedWithDNSResponses(t *testing.T) {
	one, two := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const missing, surplus = "P: the name servers give a.test the address 198.51.100.2, which its rules do not have", "P: the name servers give a.test the address 198.51.100.1 no more, which its rules have"
	for _, row := range []struct {
		why    string
		answer []netip.Addr
		seen   map[netip.Addr]time.Time
		next   time.Time
		want   []string
		cause  string
	}{
		{"the same", []netip.Addr{one}, map[netip.Addr]time.Time{one: ago(time.Hour)}, now, nil, ""},
		{"a new address, while the last answer is valid", []netip.Addr{one, two}, map[netip.Addr]time.Time{one: ago(time.Minute)}, now.Add(time.Hour), []string{missing}, "ends at 2023-11-14T23:13:20Z"},
		{"a new address, and the agent is stuck", []netip.Addr{one, two}, map[netip.Addr]time.Time{one: ago(time.Hour)}, ago(time.Minute), []string{missing}, "has not queried"},
		{"a former address is kept", []netip.Addr{two}, map[netip.Addr]time.Time{one: ago(30 * time.Second), two: now}, now, nil, ""},
		{"and for no longer", []netip.Addr{two}, map[netip.Addr]time.Time{one: ago(time.Minute), two: now}, now, []string{surplus}, "then queries again"},
		{"a name that does not exist any more", nil, map[netip.Addr]time.Time{one: ago(time.Minute)}, now, []string{surplus}, "then queries again"},
	} {
		got := compareName("a.test", "P", row.answer, row.seen, row.next, now)
		if diff := cmp.Diff(row.want, whats(t, got)); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
		for _, d := range got {
			if !strings.Contains(d.Cause, row.cause) {
				t.Errorf("%s: the cause is %q", row.why, d.Cause)
			}
		}
	}
	s := snapshot{
		Local: []local{{ID: netpolicy.ID{Namespace: "here", Name: "p"}}},
		Firewalls: []*sdnv1.EgressNetworkPolicy{
			egressPolicy("here", "default", rule("Allow", "", "a.test"), rule("Deny", "0.0.0.0/0", ""), rule("Allow", "", "a.test")), egressPolicy("elsewhere", "default", rule("Allow", "", "b.test")),
		},
	}
	if diff := cmp.Diff(map[string]string{"a.test": "EgressNetworkPolicy here/default"}, namedPolicies(s)); diff != "" {
		t.Errorf("names that are asked for: %s", diff)
	}
}
