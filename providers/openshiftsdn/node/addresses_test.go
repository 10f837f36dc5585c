package node

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

func TestAddresses(t *testing.T) {
	now := time.Unix(1000, 0)
	dir := t.TempDir()
	block := netip.MustParsePrefix("10.128.2.0/29") // .3 to .6 are for pods
	open := func() *addresses {
		return newAddresses(dir, "worker-0", func() time.Time { return now })
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

// TestReleasedAddressesRest: an address is not reused within a minute of its release while another one is free, also if the agent restarts in between, and if the
// clock is set meanwhile.
func TestReleasedAddressesRest(t *testing.T) {
	for _, row := range []struct {
		why string
		// before is the time from the release to the next process; jump is what the clock is set by in between, and after the time from then to the next ADD.
		before, jump, after time.Duration
		reused              bool
	}{
		{why: "the next process starts at once"},
		{why: "the minute counts from the release", before: restTime / 2, after: restTime/2 - time.Second},
		{why: "and not from the start of the process", before: restTime / 2, after: restTime / 2, reused: true},
		{why: "the address rested while no process ran", before: restTime, reused: true},
		{why: "it rested long ago", before: 24 * time.Hour, reused: true},
		{why: "the clock is set back: the minute begins at the start", before: time.Second, jump: -time.Hour, after: restTime - time.Second},
		{why: "it does not take longer than that", before: time.Second, jump: -time.Hour, after: restTime, reused: true},
		{why: "the clock is set by years, as on a machine without one of its own", before: time.Second, jump: -10 * 365 * 24 * time.Hour, after: restTime, reused: true},
		{why: "the clock is set forward: the release seems to be long ago", before: time.Second, jump: time.Hour, reused: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				block := netip.MustParsePrefix("10.128.2.0/29")
				first := newAddresses(dir, "worker-0", time.Now)
				released, err := first.give(block, "a", "eth0")
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{"b", "c"} {
					if _, err := first.give(block, id, "eth0"); err != nil {
						t.Fatal(err)
					}
				}
				if err := first.release("a", "eth0"); err != nil {
					t.Fatal(err)
				}
				// The search for a free address ends at the fourth one of the block, after the released one.
				if err := os.WriteFile(filepath.Join(dir, "openshift-sdn", "last_reserved_ip.0"), []byte("10.128.2.2"), 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(row.before)
				next := newAddresses(dir, "worker-0", func() time.Time { return time.Now().Add(row.jump) })
				if err := next.load(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(row.after)
				got, err := next.give(block, "d", "eth0")
				if err != nil {
					t.Fatal(err)
				}
				if (got == released) != row.reused {
					t.Errorf("released %s, given %s", released, got)
				}
				// The others are allocated: only the released one and the fourth remain.
				if _, err := next.give(block, "e", "eth0"); err != nil || next.count() != 4 {
					t.Errorf("a released address is lost: %d allocated, error %v", next.count(), err)
				}
				if files := releases(t, dir); len(files) > 0 {
					t.Errorf("allocated addresses have releases: %v", files)
				}
			})
		})
	}
}

// releases returns the files of released addresses.
func releases(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "openshift-sdn", releasedPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestReleasesAreForgotten: files of releases do not accumulate, and a release that cannot be recorded frees the address.
func TestReleasesAreForgotten(t *testing.T) {
	now, dir := time.Unix(1000, 0), t.TempDir()
	a := newAddresses(dir, "worker-0", func() time.Time { return now })
	block := netip.MustParsePrefix("10.128.2.0/27")
	for i := range 10 {
		now = now.Add(restTime / 2)
		id := fmt.Sprint("s", i)
		if _, err := a.give(block, id, "eth0"); err != nil {
			t.Fatal(err)
		}
		if err := a.release(id, "eth0"); err != nil {
			t.Fatal(err)
		}
		if files := releases(t, dir); len(files) > 2 {
			t.Fatalf("within a minute, only two addresses were released: %v", files)
		}
	}
	blocked, err := a.give(block, "blocked", "eth0")
	if err != nil {
		t.Fatal(err)
	}
	// A directory that is not empty prevents the rename.
	if err := os.MkdirAll(filepath.Join(a.file(releasedPrefix, blocked), "content"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := a.release("blocked", "eth0"); err != nil || a.count() != 0 {
		t.Errorf("%d addresses are allocated, error %v", a.count(), err)
	}
}

// TestAddressesAreAssignedOnce: under changes in any order, no address has two owners, and none of the node or of the block's ends is given.
func TestAddressesAreAssignedOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	a := newAddresses(t.TempDir(), "worker-0", func() time.Time { return now })
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
