package netlinkovs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// namedBridge is the bridge over a card that gets an alternative name, by which the bridge refers to it, and loses one.
var namedBridge = strings.NewReplacer(
	"- name: enp2s0\n  type: ethernet\n", "- name: enp2s0\n  type: ethernet\n  alt-names: [{name: the-uplink-of-this-host}, {name: old, state: absent}]\n",
	"    - name: enp2s0\n", "    - name: the-uplink-of-this-host\n",
).Replace(bridgeOverCard)

// brokenBridge is that with a gateway that does not exist, so nothing leads out.
var brokenBridge = strings.ReplaceAll(namedBridge, "192.168.111.1\n", "192.168.111.9\n")

func TestDocumentThatDoesNotWorkIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, document, says string
		apply                time.Duration // the time limit, if the document reaches it
	}{
		{name: "no such gateway: the address is right, and no one answers", document: brokenBridge, says: "gateway 192.168.111.9 on br-ex does not answer"},
		{name: "an MTU that the card cannot have: a step in the middle fails", says: "mtu",
			document: strings.Replace(bridgeOverCard, "- name: enp2s0\n  type: ethernet\n", "- name: enp2s0\n  type: ethernet\n  mtu: 65500000\n", 1)},
		{name: "a server that never answers: no lease", says: "ask for a lease", apply: 15 * time.Second,
			document: strings.Replace(bridgeOverCard, "    enabled: true\n    address:\n    - ip: \"192.168.111.110\"\n      prefix-length: 24\n", "    enabled: true\n    dhcp: true\n", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.static()
			before := l.kernel()
			l.document("master-0.yml", tt.document)
			o := l.pass(func(c *child) { c.Verify, c.Apply = time.Second, cmp.Or(tt.apply, c.Apply) })
			l.want(o, "rolled-back")
			if !strings.Contains(o.Message, tt.says) {
				t.Errorf("the message is %q, without %q", o.Message, tt.says)
			}
			l.isOld(before)
			if _, err := os.Stat(filepath.Join(l.disk, "applied")); !errors.Is(err, os.ErrNotExist) {
				t.Error("there is a marker of something that does not work")
			}
		})
	}
}

func TestDocumentThatCannotBeAppliedHereIsRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.static()
	before := l.kernel()
	l.document("master-0.yml", "interfaces:\n- {name: ens99, type: ethernet, state: up}\n- {name: enp2s0, type: ethernet, state: up, lldp: {enabled: true}}\n")
	o := l.pass(nil)
	l.want(o, "refused")
	if !strings.Contains(o.Message, "ens99") {
		t.Errorf("the message is %q", o.Message)
	}
	l.isOld(before)
}

// kernel is what of the host's network must be as it was: links, addresses, routes, bridges, DNS.
func (l *lab) kernel() string {
	l.t.Helper()
	dns, err := os.ReadFile(l.dns)
	if err != nil {
		l.t.Fatal(err)
	}
	// ip looks up the names of the peers' namespaces, and reports an error on its standard error when another test deletes one meanwhile.
	return l.on(l.host, "sh", "-c", "exec 2>/dev/null; ip -br link | grep -v ^ovs-netdev | sed -E 's/@if[0-9]+//; s/ +/ /g'; ip -br -4 address | grep -v ^ovs-netdev | sed -E 's/@if[0-9]+//; s/ +/ /g'; ip route; ip rule; ip route show table 100; ip -6 route show default; ip link | grep altname") +
		l.must("ovs-vsctl", "--db=unix:"+l.socket(), "list-br") + string(dns)
}

func (l *lab) isOld(before string) {
	l.t.Helper()
	l.reachable()
	if after := l.kernel(); after != before {
		l.t.Errorf("the network was\n%s\nand is\n%s", before, after)
	}
}

// isNew reports whether the bridge has the address and nothing else has.
func (l *lab) isNew() error {
	out := l.on(l.host, "ip", "-br", "-4", "address")
	if !strings.Contains(out, "br-ex") || strings.Count(out, "192.168.111.110/24") != 1 {
		return fmt.Errorf("addresses are\n%s", out)
	}
	if out := l.on(l.host, "ip", "link", "show", "enp2s0"); !strings.Contains(out, "altname the-uplink-of-this-host") || strings.Contains(out, "altname old") {
		return fmt.Errorf("alternative names are\n%s", out)
	}
	return l.ping(routerIP)
}

// TestKilledAtEveryStep kills the program at its first step, its second, and so on, until it completes. From each state that
// it leaves, the next start brings the host to the new one; or to the old one, where the document was removed in the meantime, and
// where the document never works.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, document string
		remove         bool
		want           string
	}{
		{name: "next pass applies", document: namedBridge},
		{name: "next pass has no document", document: namedBridge, remove: true},
		{name: "document does not work", document: brokenBridge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.static()
			before := l.kernel()
			short := func(at int) func(*child) {
				return func(c *child) { c.DieAt, c.Verify = at, time.Minute }
			}
			if tt.document == brokenBridge {
				short = func(at int) func(*child) { return func(c *child) { c.DieAt, c.Verify = at, 200*time.Millisecond } }
			}
			at := 0
			for killed := true; killed; {
				at++
				l.document("master-0.yml", tt.document)
				killed = l.pass(short(at)).Killed
				if tt.remove {
					l.forget("documents/master-0.yml")
				}
				o := l.pass(short(0))
				l.check(t, at, o, before, tt.remove, tt.document == brokenBridge)
				l.reset(before)
			}
			t.Logf("killed at each of %d steps", at-1)
			if at < 15 {
				t.Errorf("there were only %d steps", at)
			}
		})
	}
}

// check looks whether the host is in the state in which it has to be after a death at a step.
func (l *lab) check(t *testing.T, at int, o outcome, before string, removed, broken bool) {
	t.Helper()
	switch {
	case broken:
		l.want(o, "rolled-back")
		l.isOld(before)
	case removed && o.Result == "nothing":
		if err := l.isNew(); err == nil {
			return // the death came after the commit
		}
		l.isOld(before)
	default:
		if o.Result != "applied" && o.Result != "unchanged" {
			t.Fatalf("killed at step %d: the next pass ended %q: %s\n%s", at, o.Result, o.Message, o.Log)
		}
		if err := l.isNew(); err != nil {
			t.Fatalf("killed at step %d: %v\n%s\n%s", at, err, o.Log, l.show())
		}
	}
	if _, err := os.Stat(filepath.Join(l.disk, "state", "journal.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("killed at step %d: the journal is still open after the next pass", at)
	}
	if t.Failed() {
		t.Fatalf("killed at step %d:\n%s", at, o.Log)
	}
}

func (l *lab) forget(paths ...string) {
	l.t.Helper()
	for _, path := range paths {
		if err := os.RemoveAll(filepath.Join(l.disk, path)); err != nil {
			l.t.Fatal(err)
		}
	}
}

// reset brings the host back to where it was before any pass.
func (l *lab) reset(before string) {
	l.t.Helper()
	l.must("ovs-vsctl", "--db=unix:"+l.socket(), "--if-exists", "del-br", "br-ex")
	l.on(l.host, "ip", "address", "flush", "dev", "enp2s0")
	l.on(l.host, "sh", "-c", "ip link property del dev enp2s0 altname the-uplink-of-this-host 2>/dev/null; ip link property del dev enp2s0 altname old 2>/dev/null; true")
	l.forget("state", "applied", "documents/master-0.yml")
	if err := os.WriteFile(l.dns, []byte("nameserver 192.0.2.53\n"), 0o644); err != nil {
		l.t.Fatal(err)
	}
	l.static()
	l.isOld(before)
}

// TestPowerCutAtEveryStep removes all but the disk at every step: the kernel's state is lost, Open vSwitch's database is not.
// The card has its first address again after the boot, as the programs that start a host give it.
func TestPowerCutAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, works := range []bool{true, false} {
		t.Run(fmt.Sprintf("document works: %t", works), func(t *testing.T) {
			t.Parallel()
			document, patience := namedBridge, time.Minute
			if !works {
				document, patience = brokenBridge, 200*time.Millisecond
			}
			l := newLab(t)
			l.static()
			before := l.kernel()
			for at, killed := 1, true; killed; at++ {
				l.document("master-0.yml", document)
				killed = l.pass(func(c *child) { c.DieAt, c.Verify = at, patience }).Killed
				l.powerCut()
				l.bootScripts()
				o := l.pass(func(c *child) { c.Verify = patience })
				l.check(t, at, o, before, false, !works)
				l.reset(before)
			}
		})
	}
}

// bootScripts gives the card its address and a route, whether or not anything answers through it.
func (l *lab) bootScripts() {
	l.t.Helper()
	l.on(l.host, "sh", "-c", "ip link set enp2s0 up; ip link property add dev enp2s0 altname old; ip address add 192.168.111.110/24 dev enp2s0; ip route add default via "+routerIP+" dev enp2s0")
}
