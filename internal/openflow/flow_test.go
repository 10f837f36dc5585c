package openflow

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlowText(t *testing.T) {
	mac := net.HardwareAddr{0x0a, 0x58, 0x0a, 0x80, 0, 5}
	for _, tt := range []struct {
		flow   Flow
		want   string
		reason string
	}{
		{Flow{}, "table=0,priority=0 actions=drop", "the zero value drops everything"},
		{Flow{Table: 20, Priority: 100, Match: []Match{Source(netip.MustParsePrefix("10.128.0.5/32")), Is(IP), InPort(3)},
			Actions: []Action{SetRegister(0, 5), Goto(27)}},
			"table=20,priority=100,in_port=3,ip,nw_src=10.128.0.5 actions=set_field:0x5->reg0,goto_table:27", "ports and protocols come first"},
		{Flow{Match: []Match{Is(IP), Source(netip.MustParsePrefix("0.0.0.0/0")), Destination(netip.MustParsePrefix("10.1.2.3/16"))}},
			"table=0,priority=0,ip,nw_dst=10.1.0.0/16 actions=drop", "a range of all addresses is no condition; host bits do not count"},
		{Flow{Match: []Match{Is(IPv6), Source(netip.MustParsePrefix("fd01::/48"))}}, "table=0,priority=0,ipv6,ipv6_src=fd01::/48 actions=drop", "IPv6"},
		{Flow{Match: []Match{Is(ARP), ARPSource(netip.MustParsePrefix("10.128.0.5/32")), ARPSender(mac), InPort(3)}},
			"table=0,priority=0,in_port=3,arp,arp_sha=0a:58:0a:80:00:05,arp_spa=10.128.0.5 actions=drop", "ARP"},
		{Flow{Match: []Match{Register(0, 0xff, 0x0f), Register(1, 7, 0xffffffff), Register(2, 1, 0)}},
			"table=0,priority=0,reg0=0xf/0xf,reg1=0x7 actions=drop", "bits outside of the mask do not count"},
		{Flow{Match: []Match{Is(TCP), DestinationPort(PortMask{80, 0xffff}), DestinationPort(PortMask{})}},
			"table=0,priority=0,tcp,tp_dst=80 actions=drop", "all ports are no condition"},
		{Flow{Actions: []Action{Track{Commit: true, Mark: 1, Zone: 3, Table: 31}.Action()}},
			"table=0,priority=0 actions=ct(commit,zone=3,table=31,exec(set_field:0x1->ct_mark))", "connection tracking"},
		{Flow{Actions: []Action{TrackAgain(), Track{Commit: true, Force: true}.Action(), Annotate([]byte{1, 0xab})}},
			"table=0,priority=0 actions=ct(table=0),ct(commit,force),note:01.ab", "further actions"},
		{Flow{Actions: []Action{Track{Mark: 1}.Action()}}, "table=0,priority=0 actions=ct()", "a mark needs a commit"},
		{Flow{Note: "a"}, "cookie=0xaf63dc4c8601ec8c, table=0,priority=0 actions=drop", "FNV-1a of the note"},
	} {
		if diff := cmp.Diff(tt.want, tt.flow.String()); diff != "" {
			t.Errorf("%s: %s", tt.reason, diff)
		}
	}
}

func TestNewSet(t *testing.T) {
	allow := Flow{Priority: 5, Match: []Match{Is(TCP), Register(0, 1, 0xffffffff)}, Actions: []Action{Normal()}, Note: "allow"}
	same := Flow{Priority: 5, Match: []Match{Register(0, 1, 0xffffffff), Is(TCP)}, Actions: []Action{Normal()}, Note: "again"}
	s, err := NewSet(Flow{Table: 1}, same, allow, Flow{Priority: 9, Note: "first"})
	if err != nil {
		t.Fatal(err)
	}
	want := "table 0\n  priority=9 -> drop  # first\n  priority=5,tcp,reg0=0x1 -> NORMAL  # again\ntable 1\n  priority=0 -> drop\n"
	if diff := cmp.Diff(want, s.Explained()); diff != "" {
		t.Error(diff)
	}
	if s.Len() != 3 || s.Note(Flow{Note: "again"}.Cookie()) != "again" || s.Note(0) != "" {
		t.Errorf("%d flows, notes %v", s.Len(), s.notes)
	}
	deny := allow
	deny.Actions, deny.Note = nil, "deny"
	if _, err := NewSet(allow, deny, Flow{Table: 255}); err == nil ||
		!strings.Contains(err.Error(), "table=0,priority=5,tcp,reg0=0x1: both actions=NORMAL (allow) and actions=drop (deny)") ||
		!strings.Contains(err.Error(), "tables are 0 to 254") {
		t.Errorf("flows that contradict one another: %v", err)
	}
}

func TestPorts(t *testing.T) {
	for _, tt := range []struct {
		first, last uint16
		want        string
	}{
		{80, 80, "[{80 65535}]"},
		{0, 65535, "[{0 0}]"},
		{1, 65535, ""},
		{6000, 6100, "[{6000 65520} {6016 65472} {6080 65520} {6096 65532} {6100 65535}]"},
		{2, 1, "[]"},
		{65535, 65535, "[{65535 65535}]"},
	} {
		masks := Ports(tt.first, tt.last)
		if got := fmt.Sprint(masks); tt.want != "" && got != tt.want {
			t.Errorf("%d to %d: %s, want %s", tt.first, tt.last, got, tt.want)
		}
		for port := range 1 << 16 {
			inside, selected := port >= int(tt.first) && port <= int(tt.last), 0
			for _, m := range masks {
				if uint16(port)&m.Mask == m.Port {
					selected++
				}
			}
			if inside && selected != 1 || !inside && selected != 0 {
				t.Fatalf("%d to %d: %d masks select port %d", tt.first, tt.last, selected, port)
			}
		}
	}
}

// trace is what Open vSwitch 3.1 prints of a packet that a flow of table 20 drops.
const trace = `Flow: tcp,in_port=1,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,nw_src=10.128.0.5

bridge("br0")
-------------
 0. in_port=1, priority 100, cookie 0xaf63dc4c8601ec8c
    set_field:0x5->reg0
    goto_table:20
20. No match.
    drop

Final flow: unchanged
Megaflow: recirc_id=0,eth,tcp,in_port=1
Datapath actions: drop
`

func TestParseTrace(t *testing.T) {
	s, err := NewSet(Flow{Note: "a"})
	if err != nil {
		t.Fatal(err)
	}
	got := ParseTrace(trace, s)
	want := Trace{Text: trace, Datapath: "drop", Steps: []Step{
		{Table: 0, Flow: "in_port=1, priority 100", Actions: []string{"set_field:0x5->reg0", "goto_table:20"}, Note: "a"},
		{Table: 20, Flow: "No match.", Actions: []string{"drop"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got.Dropped() || got.Reason() != "a" {
		t.Errorf("dropped %v, reason %q", got.Dropped(), got.Reason())
	}
}

// TestParseTraceAfterTracking: a packet that connection tracking gives back continues with further steps, and only the last words count.
func TestParseTraceAfterTracking(t *testing.T) {
	got := ParseTrace(` 0. ct_state=-trk,ip, priority 1000
    ct(table=0)

Final flow: unchanged
Datapath actions: ct,recirc(0x1)

bridge("br0")
-------------
    thaw
        Resuming from table 0
 0. ip, priority 100
    output:NXM_NX_REG2[]
     -> output port is 16

Final flow: recirc_id=0x1
Datapath actions: 7
`, Set{})
	want := []Step{
		{Table: 0, Flow: "ct_state=-trk,ip, priority 1000", Actions: []string{"ct(table=0)"}},
		{Table: 0, Flow: "ip, priority 100", Actions: []string{"output:NXM_NX_REG2[]", "output port is 16"}},
	}
	if diff := cmp.Diff(want, got.Steps); diff != "" || got.Datapath != "7" {
		t.Errorf("datapath %q: %s", got.Datapath, diff)
	}
}

// FuzzTrace: what Open vSwitch prints is read without a panic, also if it is nonsense.
func FuzzTrace(f *testing.F) {
	f.Add(trace)
	f.Add("999999999999999999999999. x\n    y\nDatapath actions: ")
	f.Fuzz(func(_ *testing.T, text string) { _ = ParseTrace(text, Set{}) })
}

// TestOwners: the flows of an owner are found by what Open vSwitch reports of a flow: its line, its cookie, or its meter.
func TestOwners(t *testing.T) {
	s, err := NewSet(
		Flow{Table: 1, Note: "rest"},
		Flow{Table: 2, Match: []Match{Is(IP)}, Actions: []Action{Meter(7), Output(1)}, Note: "web", Owner: "pod shop/web"},
		Flow{Table: 3, Match: []Match{Is(IP)}, Note: "policy", Owner: "namespace shop"},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, rates := range [][]Rate{nil, {{ID: 7, Kilobits: 1}, {ID: 8, Kilobits: 1}}} {
		s := s.WithRates(rates...)
		for i, line := range strings.Split(strings.TrimSuffix(s.String(), "\n"), "\n") {
			want := map[string]string{"table=2": "pod shop/web", "table=3": "namespace shop"}
			owner := ""
			for text, o := range want {
				if strings.Contains(line, text) {
					owner = o
				}
			}
			if got := s.OwnerAt(i + 1); got != owner {
				t.Errorf("line %d, %s: owner %q", i+1, line, got)
			}
		}
		if got := s.OwnerAt(0) + s.OwnerAt(s.Len()+len(rates)+1); got != "" {
			t.Errorf("lines that do not exist have owner %q", got)
		}
	}
	for note, owner := range map[string]string{"rest": "", "web": "pod shop/web", "policy": "namespace shop", "another": ""} {
		if got := s.OwnerOf(Flow{Note: note}.Cookie()); got != owner {
			t.Errorf("the cookie of %q: owner %q", note, got)
		}
	}
	if s.OwnerOfMeter(7) != "pod shop/web" || s.OwnerOfMeter(8) != "" {
		t.Errorf("meters: owners %q and %q", s.OwnerOfMeter(7), s.OwnerOfMeter(8))
	}
	if got := s.Owned("namespace shop"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "table=3") || s.Owned("another") != "" {
		t.Errorf("the flows of an owner: %q", got)
	}
}
