package proxykernel

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/facts"
)

func TestModesOfThisKernel(t *testing.T) {
	_, err := netlink.GenlFamilyGet(ipvsFamily)
	hasIPVS := err == nil
	for _, tc := range []struct {
		name  string
		needs Needs
		ok    bool
		why   string
	}{
		{"nftables", Needs{Mode: NFTables, IPv4: true}, true, "the tests of this project need nftables"},
		{"nftables of both families", Needs{Mode: NFTables, IPv4: true, IPv6: true}, true, "both have the same modules"},
		{"iptables of both families", Needs{Mode: IPTables, IPv4: true, IPv6: true}, true, "the tests of flannel need iptables"},
		{"ipvs", Needs{Mode: IPVS, IPv4: true}, hasIPVS, "the answer is that of the kernel, which kube-proxy gets, too"},
		{"nftables of a later kernel", Needs{Mode: NFTables, IPv4: true, MinimumKernel: facts.KernelVersion{Major: 999}}, false, "kube-proxy compares the version"},
		{"an unknown mode", Needs{Mode: "ebpf", IPv4: true}, false, "it is no mode of kube-proxy"},
		{"no family", Needs{Mode: NFTables}, false, "there is nothing to check"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := Check(tc.needs); (err == nil) != tc.ok {
				t.Errorf("%s: %v", tc.why, err)
			}
		})
	}
}

// TestEachCapabilityIsNeeded runs tests of the requests to the kernel with the capabilities of the containers that run the check, which
// docs/programs/cluster-network-operator.md lists, and without each of them. NET_RAW is needed for the older ip_tables.
func TestEachCapabilityIsNeeded(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"net_admin", "net_raw", "sys_admin"}
	for _, without := range append(slices.Clone(all), "none") {
		set := "-all"
		for _, c := range all {
			if c != without {
				set += ",+" + c
			}
		}
		out, err := exec.CommandContext(t.Context(), "setpriv", "--bounding-set="+set, "--", self, "-test.run=^(TestModesOfThisKernel|TestNamesAreDistinguished)$").CombinedOutput()
		if (err == nil) != (without == "none") || err != nil && !strings.Contains(string(out), "operation not permitted") {
			t.Errorf("without %s the check ends with %v:\n%s", without, err, out)
		}
	}
}

// Where the kernel has IPVS the scheduler is what is missing, and elsewhere IPVS itself.
func TestUnknownSchedulerIsMissing(t *testing.T) {
	err := Check(Needs{Mode: IPVS, IPv4: true, Scheduler: "nosuch"})
	if err == nil {
		t.Fatal("a scheduler that no kernel has is accepted")
	}
	for _, want := range []string{"proxy-mode ipvs", "IPVS", "ip_vs_nosuch", "the old rules stay", "proxyArguments[proxy-mode]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message does not contain %q: %v", want, err)
		}
	}
}

// Conditions show the first 200 bytes of what a container ends with, and the command's name is before the message.
func TestMessageFitsInACondition(t *testing.T) {
	message := "cluster-network-operator: " + message(IPVS, "5.14.0-427.13.1.el9_4.x86_64", []string{"IPVS (modules ip_vs, ip_vs_rr)"})
	if len(message) > 200 {
		t.Errorf("%d bytes: %s", len(message), message)
	}
}

// A failed or passed check leaves the rules of every mode as they are.
func TestCheckChangesNothing(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test's goroutine, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("create network namespace (must be root): %v", err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		// A command that is started from this thread runs in its namespace.
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return string(out)
	}
	run("nft", "add table ip kube-proxy; add chain ip kube-proxy services; add rule ip kube-proxy services ip daddr 10.96.0.1 counter accept")
	run("iptables", "-t", "nat", "-N", "KUBE-SERVICES")
	before := run("nft", "list", "ruleset")
	for _, mode := range []string{NFTables, IPTables, IPVS} {
		err := Check(Needs{Mode: mode, IPv4: true, IPv6: true})
		if after := run("nft", "list", "ruleset"); after != before {
			t.Errorf("the check of %s (%v) changed the rules:\n%s\nwas\n%s", mode, err, after, before)
		}
	}
}

// The check requests by number what the kernel's tools request: unknown names are absent, known ones are not.
func TestNamesAreDistinguished(t *testing.T) {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("create network namespace (must be root): %v", err)
	}
	n, err := openNetfilter()
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	for _, f := range (Needs{IPv4: true, IPv6: true}).families() {
		if err := n.rule(f, "nosuch"); !absent(err) {
			t.Errorf("%s: an unknown expression: %v", f.name, err)
		}
		if err := extension(f, "nosuch", 0); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: an unknown match: %v", f.name, err)
		}
		if err := n.legacy(f); err != nil && !slices.Contains([]error{unix.ENOENT, unix.ENOPROTOOPT}, err) {
			t.Errorf("%s: the older ip_tables: %v", f.name, err)
		}
		if err := n.rule(f, ""); err != nil {
			t.Errorf("%s: a request after those that failed: %v", f.name, err)
		}
	}
}
