package neighbor

import (
	"net/netip"
	"strings"
	"testing"
)

func TestRequestsAndReplies(t *testing.T) {
	own, other := MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 2}
	for _, text := range []string{"192.168.12.99", "fd12::99"} {
		address, asker := netip.MustParseAddr(text), netip.MustParseAddr(map[bool]string{true: "192.168.12.5", false: "fd12::5"}[strings.Contains(text, ".")])
		for _, row := range []struct {
			why   string
			frame []byte
			want  bool
		}{
			{"another machine announces it", Announcements(address, other)[0], true},
			{"another machine looks whether it is taken, at the same time", Question(address, netip.Addr{}, other), true},
			{"another machine asks for it in order to send", Question(address, asker, other), false},
			{"another machine announces another address", Announcements(asker, other)[0], false},
			{"the own announcement", Announcements(address, own)[0], false},
			{"nothing", nil, false},
			{"half a frame", Announcements(address, other)[0][:30], false},
		} {
			holder, got := Answer(row.frame, address, own)
			if got != row.want || got && holder != other {
				t.Errorf("%s, %s: %v, %x", text, row.why, got, holder)
			}
		}
	}
}

// A machine may send from one MAC address and name another one, as in some clusters of gateways.
func TestHolderIsTakenFromTheReply(t *testing.T) {
	own, named := MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 3}
	frame := Announcements(netip.MustParseAddr("fd12::99"), named)[0]
	copy(frame[6:12], []byte{2, 0, 0, 0, 0, 9})
	if holder, ok := Answer(frame, netip.MustParseAddr("fd12::99"), own); !ok || holder != named {
		t.Errorf("%v, %x", ok, holder)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"192.168.12.99", "fd12::99"} {
		for _, frame := range Announcements(netip.MustParseAddr(text), MAC{2, 0, 0, 0, 0, 2}) {
			f.Add(frame)
		}
	}
	f.Fuzz(func(_ *testing.T, frame []byte) {
		Answer(frame, netip.MustParseAddr("192.168.12.99"), MAC{})
		Answer(frame, netip.MustParseAddr("fd12::99"), MAC{})
	})
}
