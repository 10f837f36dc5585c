package networkmanager

import (
	"log/slog"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/kernelstate"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

func TestAlternativeNamesMoveBetweenLinks(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread dies with the test's goroutine, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make network namespace (must be root): %v", err)
	}
	if out, err := exec.Command("sh", "-c", "ip link add va type veth peer name vb && ip link property add dev va altname moves altname stays").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	handle, err := netlink.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handle.Close)
	backend := &Backend{Netlink: handle, Kernel: kernelstate.Reader{Netlink: handle}.Read, Log: slog.New(slog.DiscardHandler)}
	wanted := []livestate.AltNames{{Link: "vb", Add: []string{"moves", strings.Repeat("x", 127)}}, {Link: "va", Remove: []string{"moves", "never"}}}
	for range 2 { // the second time there is nothing to do
		if err := backend.setAltNames(wanted); err != nil {
			t.Fatal(err)
		}
	}
	state, err := backend.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"va": {"stays"}, "vb": {"moves", strings.Repeat("x", 127)}} {
		if link, ok := state.Link(name); !ok || !slices.Equal(slices.Sorted(slices.Values(link.AltNames)), want) {
			t.Errorf("%s: %+v, want %v", name, link, want)
		}
	}
	for _, row := range []struct {
		want livestate.AltNames
		says string
	}{
		{livestate.AltNames{Link: "vb", Add: []string{"stays"}}, "add the alternative name stays to vb: file exists"},
		{livestate.AltNames{Link: "c", Add: []string{"x"}}, "set the alternative names of c: Link not found"},
	} {
		if err := backend.setAltNames([]livestate.AltNames{row.want}); err == nil || err.Error() != row.says {
			t.Errorf("%v: got %v, want %s", row.want, err, row.says)
		}
	}
}
