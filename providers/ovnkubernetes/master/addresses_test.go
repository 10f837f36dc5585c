package master

import (
	"net/netip"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestAssign(t *testing.T) {
	v4, v6 := netip.MustParsePrefix("10.0.0.16/29"), netip.MustParsePrefix("fd00::/64")
	for _, tt := range []struct {
		reason    string
		blocks    []netip.Prefix
		preferred []string
		want      []string // nil: exhausted
	}{
		{"the first address behind those of the router and the node", []netip.Prefix{v4, v6}, nil, []string{"10.0.0.20", "fd00::3"}},
		{"what the pod has", []netip.Prefix{v4, v6}, []string{"10.0.0.21", "fd00::77"}, []string{"10.0.0.21", "fd00::77"}},
		{"one of a second family is added to what the pod has", []netip.Prefix{v4, v6}, []string{"10.0.0.21"}, []string{"10.0.0.21", "fd00::3"}},
		{"an address that an older pod has", []netip.Prefix{v4}, []string{"10.0.0.19"}, []string{"10.0.0.20"}},
		{"an address of another block", []netip.Prefix{v4}, []string{"10.0.0.30"}, []string{"10.0.0.20"}},
		{"the router's address", []netip.Prefix{v4}, []string{"10.0.0.17"}, []string{"10.0.0.20"}},
		{"the node's address", []netip.Prefix{v4}, []string{"10.0.0.18"}, []string{"10.0.0.20"}},
		{"the broadcast address", []netip.Prefix{v4}, []string{"10.0.0.23"}, []string{"10.0.0.20"}},
		{"a block without a free address", []netip.Prefix{v6, netip.MustParsePrefix("10.1.0.0/29")}, nil, nil},
	} {
		a := newAddresses()
		var preferred []netip.Addr
		for _, p := range tt.preferred {
			preferred = append(preferred, netip.MustParseAddr(p))
		}
		a.note("older", []netip.Addr{netip.MustParseAddr("10.0.0.19")})
		for i, address := range []string{"10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6"} {
			a.note(types.UID(string(rune('a'+i))), []netip.Addr{netip.MustParseAddr(address)})
		}
		got, err := a.assign("pod", tt.blocks, preferred)
		var texts []string
		for _, address := range got {
			texts = append(texts, address.String())
		}
		if !slices.Equal(texts, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("%s: %v, %v, want %v", tt.reason, texts, err, tt.want)
		}
		if a.release("pod"); len(a.held["pod"]) > 0 || slices.ContainsFunc(got, func(g netip.Addr) bool { return a.owner[g] != "" }) {
			t.Errorf("%s: an address is not given back", tt.reason)
		}
	}
}

func TestReleasedAddressesAreNotReusedAtOnce(t *testing.T) {
	a := newAddresses()
	block := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	first, _ := a.assign("a", block, nil)
	a.release("a")
	if second, err := a.assign("b", block, nil); err != nil || second[0] == first[0] {
		t.Errorf("%v is used again at once, %v", second, err)
	}
}
