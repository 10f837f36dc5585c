package dhcp

import (
	"testing"
	"time"
)

func TestStateAndNextRequest(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	times := func(valid time.Duration) Times {
		renew, rebind := renewal(valid, 0, 0)
		return Times{Renew: start.Add(renew), Rebind: start.Add(rebind), Expire: start.Add(valid)}
	}
	for _, tt := range []struct {
		reason    string
		valid, at time.Duration
		state     State
		next      time.Duration
	}{
		{"before T1 nothing is sent", time.Hour, 0, Bound, 30 * time.Minute},
		{"at T1 the state changes; again after half of the time to T2", time.Hour, 30 * time.Minute, Renewing, 30*time.Minute + (22*time.Minute+30*time.Second)/2},
		{"not sooner than after a minute", time.Hour, 51 * time.Minute, Renewing, 52 * time.Minute},
		{"T2 is not passed", time.Hour, 52 * time.Minute, Renewing, 52*time.Minute + 30*time.Second},
		{"at T2 any server is asked; again after half of the rest", time.Hour, 52*time.Minute + 30*time.Second, Rebinding, 56*time.Minute + 15*time.Second},
		{"the end is not passed", time.Hour, 59*time.Minute + 30*time.Second, Rebinding, time.Hour},
		{"the end", time.Hour, time.Hour, Expired, time.Hour},
		{"long after the end", time.Hour, 5 * time.Hour, Expired, 5 * time.Hour},
		{"a short lease has several requests in each state", 2 * time.Minute, time.Minute, Renewing, time.Minute + 22500*time.Millisecond},
		{"to the end", 2 * time.Minute, 105 * time.Second, Rebinding, 112500 * time.Millisecond},
		{"a lease of four seconds", 4 * time.Second, 2 * time.Second, Renewing, 3500 * time.Millisecond},
		{"a lease without end, which is 136 years", 1<<32*time.Second - time.Second, time.Hour, Bound, (1<<32*time.Second - time.Second) / 2},
	} {
		times := times(tt.valid)
		if got := times.At(start.Add(tt.at)); got != tt.state {
			t.Errorf("%s: state %s, expected %s", tt.reason, got, tt.state)
		}
		if got := times.Next(tt.state, start.Add(tt.at)); !got.Equal(start.Add(tt.next)) {
			t.Errorf("%s: due after %s, expected %s", tt.reason, got.Sub(start), tt.next)
		}
	}
}

func TestUnansweredRequestIsRepeatedAtOnceInTheNextState(t *testing.T) {
	times := Times{Renew: since.Add(time.Minute), Rebind: since.Add(2 * time.Minute), Expire: since.Add(3 * time.Minute)}
	for asked, at := range map[State]time.Time{Renewing: times.Rebind, Rebinding: times.Expire} {
		if got := times.Next(asked, at); !got.Equal(at) {
			t.Errorf("%s: due %s later", asked, got.Sub(at))
		}
	}
}

func TestRenewalTimes(t *testing.T) {
	for _, tt := range []struct {
		reason                string
		valid, t1, t2         time.Duration
		wantRenew, wantRebind time.Duration
	}{
		{"the times of the server", time.Hour, time.Minute, 2 * time.Minute, time.Minute, 2 * time.Minute},
		{"the server sends no times", 80 * time.Second, 0, 0, 40 * time.Second, 70 * time.Second},
		{"T2 after the end", 80 * time.Second, 10 * time.Second, time.Hour, 10 * time.Second, 70 * time.Second},
		{"T1 after T2", 80 * time.Second, 75 * time.Second, 70 * time.Second, 40 * time.Second, 70 * time.Second},
		{"an early T2 alone", 80 * time.Second, 0, 20 * time.Second, 20 * time.Second, 20 * time.Second},
	} {
		renew, rebind := renewal(tt.valid, tt.t1, tt.t2)
		if renew != tt.wantRenew || rebind != tt.wantRebind {
			t.Errorf("%s: T1 %s, T2 %s, expected %s and %s", tt.reason, renew, rebind, tt.wantRenew, tt.wantRebind)
		}
	}
}

func TestClientsStartedTogetherAreRenewedAtDifferentTimes(t *testing.T) {
	seen := map[time.Duration]bool{}
	for i := range 100 {
		s := spread([]byte{0, byte(i), '/', 'n'}, 16*time.Minute)
		if s < 0 || s >= time.Minute {
			t.Errorf("client %d is renewed %s before T1, expected less than a sixteenth of it", i, s)
		}
		if s != spread([]byte{0, byte(i), '/', 'n'}, 16*time.Minute) {
			t.Errorf("client %d has different times", i)
		}
		seen[s.Round(5*time.Second)] = true
	}
	if len(seen) < 8 {
		t.Errorf("100 clients are renewed at %d times", len(seen))
	}
}

func TestRegainIsRepeatedWithBackOff(t *testing.T) {
	for failed, want := range []time.Duration{0, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute} {
		if got := regainDelay(failed); got != want {
			t.Errorf("after %d failures: %s, expected %s", failed, got, want)
		}
	}
	if got := regainDelay(1 << 40); got != 5*time.Minute {
		t.Errorf("after very many failures: %s", got)
	}
}
