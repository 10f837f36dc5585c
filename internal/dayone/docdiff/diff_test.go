package docdiff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement/placementtest"
)

func parsed(t *testing.T, content string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("a.yml", []byte(content))
	if doc == nil {
		t.Fatal(problems)
	}
	return doc
}

func TestDiffNamesWhatPeopleTalkAbout(t *testing.T) {
	after := strings.NewReplacer("192.0.2.10", "192.0.2.11", "ethernet, ", "ethernet, mtu: 9000, ", "{name: eno1}, ", "{name: eno2}, ", "next-hop-address: 192.0.2.1", "next-hop-address: 192.0.2.2, metric: 5").Replace(placementtest.Sound)
	differences, err := Diff(parsed(t, placementtest.Sound), parsed(t, after))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range differences {
		got = append(got, d.Subject+" "+d.String())
	}
	want := []string{
		"interface br-ex (ovs-bridge) - bridge.port[eno1]",
		"interface br-ex (ovs-bridge) + bridge.port[eno2]",
		"interface br-ex (ovs-interface) - address 192.0.2.10/24",
		"interface br-ex (ovs-interface) + address 192.0.2.11/24",
		"interface eno1 (ethernet) + mtu: 9000",
		"routes - 0.0.0.0/0 via 192.0.2.1 dev br-ex",
		`routes + 0.0.0.0/0 via 192.0.2.2 dev br-ex: {"metric":5}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSpellingMakesNoDifference(t *testing.T) {
	const a = "interfaces:\n- {name: eno1, mtu: 1500, state: up, ipv4: {enabled: 'yes', address: [{ip: 192.0.2.1, prefix-length: 24}, {ip: 192.0.2.2, prefix-length: '24'}]}}\n- {name: eno2, type: ethernet}\n"
	const b = "interfaces:\n- {type: ethernet, name: eno2}\n- {name: eno1, type: ethernet, state: up, mtu: '1500', ipv4: {address: [{ip: 192.0.2.2, prefix-length: 24}, {ip: 192.0.2.1, prefix-length: 24}], enabled: true}}\n"
	differences, err := Diff(parsed(t, a), parsed(t, b))
	if err != nil || len(differences) > 0 {
		t.Errorf("%v %v", differences, err)
	}
}

func TestADocumentDiffersFromNothingInAllThatItSays(t *testing.T) {
	differences, err := Diff(nil, parsed(t, placementtest.Sound))
	if err != nil || len(differences) < 8 {
		t.Errorf("%v %v", differences, err)
	}
	for _, d := range differences {
		if d.From != "" {
			t.Errorf("%s was missing", d)
		}
	}
}
