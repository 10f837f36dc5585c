package node

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

func TestAddresses(t *testing.T) {
	now := time.Unix(1000, 0)
	dir := t.TempDir()
	block := netip.MustParsePrefix("10.128.2.0/29") // .3 to .6 are for pods
	open := func() *addresses {
		return newAddresses(dir, "openshift-sdn", "worker-0", func() time.Time { return now })
	}
	a := open()
	give := func(id, want string) {
		t.Helper()
		got, err := a.give(block, id, "eth0")
		if err != nil || got.String() != want {
			t.Errorf("%s: %s, %v; want %s", id, got, err, want)
		}
	}
	free := func(id string) {
		t.Helper()
		if err := a.release(id, "eth0"); err != nil {
			t.Error(err)
		}
	}
	give("a", "10.128.2.3") // .1 and .2 are the node's
	give("a", "10.128.2.3") // a repeated request
	give("b", "10.128.2.4")
	a = open() // another process
	give("c", "10.128.2.5")
	free("a")
	free("b")
	give("d", "10.128.2.6") // the end of the block, but the broadcast address
	now = now.Add(restTime / 2)
	free("c")
	now = now.Add(restTime/2 + time.Second)
	give("e", "10.128.2.3") // .3 and .4 have rested
	give("f", "10.128.2.4")
	give("g", "10.128.2.5") // it has not, but no other one is free
	if _, err := a.give(block, "h", "eth0"); err == nil || !strings.Contains(err.Error(), "no address is free in 10.128.2.0/29 on worker-0 (4 in use)") || cniproto.AsError(err).Code != 11 {
		t.Errorf("a full block: %v", err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "openshift-sdn", "10.128.2.5")); err != nil || string(content) != "g\r\neth0" {
		t.Errorf("the file of an address is %q, %v, not as host-local has it", content, err)
	}
	if err := a.releaseAll(func(id, _ string) bool { return id != "g" }); err != nil || a.count() != 1 {
		t.Errorf("%d addresses are left: %v", a.count(), err)
	}
}

// TestAddressesAreAssignedOnce: under changes in any order, no address has two owners, and none of the node or of the block's ends is given.
func TestAddressesAreAssignedOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	a := newAddresses(t.TempDir(), "openshift-sdn", "worker-0", func() time.Time { return now })
	block := netip.MustParsePrefix("10.128.2.0/27")
	given := map[netip.Addr]string{}
	for i := range 200 {
		now = now.Add(time.Second)
		id := fmt.Sprintf("s%d", i)
		got, err := a.give(block, id, "eth0")
		if err != nil {
			t.Fatal(err)
		}
		if owner, twice := given[got]; twice {
			t.Fatalf("%s is given to %s and %s", got, owner, id)
		}
		if last := got.As4()[3]; last < 3 || last > 30 {
			t.Fatalf("%s is given", got)
		}
		given[got] = id
		if i%3 > 0 || len(given) > 20 {
			for address, owner := range given {
				if err := a.release(owner, "eth0"); err != nil {
					t.Fatal(err)
				}
				delete(given, address)
				break
			}
		}
	}
}
