package node

import (
	"testing"
	"time"
)

func TestFlowsAreClearedAtOnceAfterARestartOfOpenVSwitch(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	for name, row := range map[string]struct {
		restarted *time.Time
		want      time.Duration
		reason    string
	}{
		"no restart":                     {nil, flowsGracePeriod, "ovn-controller may have restarted: its predecessor's flows serve pods"},
		"a restart now":                  {ago(0), 0, "there are no flows to keep"},
		"a restart three attempts ago":   {ago(7 * time.Second), 0, "ovn-controller tries after 1, 2 and 4 s"},
		"a restart that is long settled": {ago(time.Minute), flowsGracePeriod, "the next to restart may be ovn-controller"},
	} {
		if got := clearAfter(row.restarted, now); got != row.want {
			t.Errorf("%s: %s, want %s: %s", name, got, row.want, row.reason)
		}
	}
}
