package connectivity

import (
	"testing"
	"time"
)

// TestLimitsFollowTheTimeout: a longer test gives pods more time to start and namespaces more time to be deleted, and a shorter one not less than
// they need.
func TestLimitsFollowTheTimeout(t *testing.T) {
	for _, row := range []struct{ limit, starting, cleaning time.Duration }{
		{10 * time.Second, 20 * time.Second, 30 * time.Second},
		{timeLimit, 20 * time.Second, 30 * time.Second},
		{10 * time.Minute, 100 * time.Second, 150 * time.Second},
	} {
		s := &fixture{limit: row.limit}
		if s.starting() != row.starting || s.cleaning() != row.cleaning {
			t.Errorf("%s: pods may take %s to start, the clean-up %s; want %s and %s", row.limit, s.starting(), s.cleaning(), row.starting, row.cleaning)
		}
	}
}
