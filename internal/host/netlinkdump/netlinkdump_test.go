package netlinkdump_test

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

func TestAll(t *testing.T) {
	other := errors.New("other")
	for _, tt := range []struct {
		reason      string
		interrupted int
		err         error
		want        int
		calls       int
		last        error
	}{
		{"nothing changes", 0, nil, 2, 1, nil},
		{"interrupted three times", 3, nil, 2, 4, nil},
		{"another error is not repeated", 0, other, 0, 1, other},
		{"interrupted always: an incomplete list is not returned", 1000, nil, 0, 100, netlink.ErrDumpInterrupted},
	} {
		calls := 0
		got, err := netlinkdump.All(func() ([]int, error) {
			calls++
			switch {
			case calls <= tt.interrupted:
				return []int{1}, netlink.ErrDumpInterrupted
			case tt.err != nil:
				return nil, tt.err
			}
			return []int{1, 2}, nil
		})
		if len(got) != tt.want || calls != tt.calls || !errors.Is(err, tt.last) {
			t.Errorf("%s: %v after %d calls, %v", tt.reason, got, calls, err)
		}
	}
}
