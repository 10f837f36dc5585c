package ovs

import (
	"errors"
	"maps"
	"slices"
	"testing"
)

// TestConcurrentlyAddedInterfaceHasItsLink adds one, after its link, at every moment of a look for interfaces without a link.
func TestConcurrentlyAddedInterfaceHasItsLink(t *testing.T) {
	interfaces, links := map[string]Interface{"old": {}, "kept": {}}, map[string]bool{"kept": true}
	add := func() { links["new"], interfaces["new"] = true, Interface{} }
	for moment := range 4 {
		delete(links, "new")
		delete(interfaces, "new")
		at := func(m int) {
			if moment == m {
				add()
			}
		}
		gone, err := withoutLink(func() map[string]Interface { at(0); out := maps.Clone(interfaces); at(1); return out },
			func() (map[string]bool, error) { at(2); out := maps.Clone(links); at(3); return out, nil })
		if got := slices.Sorted(maps.Keys(gone)); err != nil || !slices.Equal(got, []string{"old"}) {
			t.Errorf("moment %d: %v, %v", moment, got, err)
		}
	}
	failed := errors.New("netlink")
	if _, err := withoutLink(func() map[string]Interface { return interfaces }, func() (map[string]bool, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
}
