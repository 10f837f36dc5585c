package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/agent"
)

func TestCellWakesReaders(t *testing.T) {
	c := agent.NewCell(1)
	before, changed := c.Get()
	c.Update(func(*int) bool { return false })
	select {
	case <-changed:
		t.Error("an update without a change wakes readers")
	default:
	}
	c.Update(func(v *int) bool { *v = 2; return true })
	<-changed
	if after, _ := c.Get(); before != 1 || after != 2 {
		t.Errorf("%d, then %d", before, after)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		close(closed)
		if agent.Wait(t.Context(), nil, closed, nil) {
			t.Error("a change counts as the timer")
		}
		if !agent.Wait(t.Context(), nil, nil, time.After(time.Second)) {
			t.Error("the timer does not count")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if agent.Pause(ctx, time.Hour, nil); time.Since(start) != time.Second {
			t.Errorf("a pause whose context ended took %s", time.Since(start))
		}
		start = time.Now()
		if agent.Pause(t.Context(), time.Minute, nil); time.Since(start) != time.Minute {
			t.Errorf("a pause of a minute took %s", time.Since(start))
		}
	})
}

func TestDamperWaitsLongerAndForgets(t *testing.T) {
	var d agent.Backoff
	now := time.Unix(1_700_000_000, 0)
	var got []time.Duration
	for range 9 {
		got = append(got, d.Next(now))
		now = now.Add(time.Second)
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{0, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}, got); diff != "" {
		t.Errorf("it waits (-want +got):\n%s", diff)
	}
	if again := d.Next(now.Add(10 * time.Minute)); again != 0 {
		t.Errorf("after ten quiet minutes it waits %s", again)
	}
}

func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		trigger := agent.NewTrigger()
		start, calls := time.Now(), []time.Duration(nil)
		fail := false
		k := agent.Loop{
			Apply: func(context.Context) error {
				calls = append(calls, time.Since(start))
				if fail {
					return errors.New("refused")
				}
				return nil
			},
			Interval: 10 * time.Second, Debounce: 20 * time.Millisecond, Changed: trigger, Now: time.Now, Beat: &agent.Beat{},
		}
		ended := make(chan struct{})
		go func() { k.Run(ctx); close(ended) }()
		time.Sleep(time.Second)
		for range 3 {
			trigger.Fire() // changes come in groups
		}
		time.Sleep(11 * time.Second)
		fail = true
		for range 5 { // a third party that reverts it at once
			trigger.Fire()
			time.Sleep(2 * time.Second)
		}
		cancel()
		<-ended
		ms := time.Millisecond
		want := []time.Duration{0, 1020 * ms, 11020 * ms, 12020 * ms, 13020 * ms, 14020 * ms, 16020 * ms, 20020 * ms}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("it is called at (-want +got):\n%s", diff)
		}
		if k.Beat.Last().IsZero() {
			t.Error("it has no beat")
		}
	})
}

func TestBoardReportsEachProblemOnce(t *testing.T) {
	var log bytes.Buffer
	b := agent.NewBoard(7, slog.New(slog.NewTextHandler(&log, nil)))
	b.Note("routes", errors.New("b"))
	_, changed := b.Get()
	b.Note("routes", errors.New("b"))
	select {
	case <-changed:
		t.Error("the same problem counts twice")
	default:
	}
	before := b.View()
	b.Note("lease", errors.New("a"))
	b.Set("database", errors.New("away"))
	if diff := cmp.Diff([]string{"a", "b"}, b.View().Problems.Sentences("database")); diff != "" {
		t.Errorf("all problems but one (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, before.Problems.Sentences()); diff != "" {
		t.Errorf("an earlier view has changed (-want +got):\n%s", diff)
	}
	b.Note("routes", nil)
	b.Update(func(s *int) bool { *s = 8; return true })
	v := b.View()
	if v.Status != 8 || v.Problems.Len() != 2 || v.Problems.Has("routes") || !v.Problems.Has("routes", "lease") {
		t.Errorf("after one was solved: %+v", v)
	}
	if got := strings.Count(log.String(), "\n"); got != 3 {
		t.Errorf("%d lines are logged instead of 3:\n%s", got, log.String())
	}
}

func TestHealth(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	with := func(text string) agent.Problems {
		p, _ := agent.Problems{}.Set("x", errors.New(text))
		return p
	}
	for _, tt := range []struct {
		why, path string
		ready     bool
		problems  agent.Problems
		beat      time.Time
		code      int
		body      string
	}{
		{"it works", "/healthz", true, agent.Problems{}, now, 200, "ok\n"},
		{"it has not begun", "/healthz", false, agent.Problems{}, time.Time{}, 200, "ok\n"},
		{"it is stuck", "/healthz", true, agent.Problems{}, now.Add(-3 * time.Minute), 500, "the node was last reconciled at 2023-11-14T22:10:20Z\n"},
		{"a problem does not end readiness", "/readyz", true, with("the database cannot be reached"), now, 200, "ready\nthe database cannot be reached\n"},
		{"it waits", "/readyz", false, with("plugins are missing"), now, 503, "not ready\nplugins are missing\n"},
	} {
		var beat agent.Beat
		if !tt.beat.IsZero() {
			beat.Mark(tt.beat.UTC())
		}
		h := agent.Health{
			Ready: func() (bool, agent.Problems) { return tt.ready, tt.problems }, Beat: &beat,
			Now: func() time.Time { return now }, Metrics: agent.NewMetrics("toy", "v1"),
		}.Handler()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
		if w.Code != tt.code || w.Body.String() != tt.body {
			t.Errorf("%s: %d %q", tt.why, w.Code, w.Body)
		}
	}
}

func TestMetricsHaveTheProgramsName(t *testing.T) {
	m := agent.NewMetrics("toy", "v1")
	m.Counter("repairs_total", "Repairs.").Add(2)
	m.Results("adds_total", "Adds.").WithLabelValues("ok").Inc()
	m.Histogram("pass_seconds", "Passes.", []float64{1}).Observe(0.5)
	m.Gauge("ready", "Whether it is ready.", func() float64 { return agent.Flag(true) })
	w := httptest.NewRecorder()
	agent.Health{Beat: &agent.Beat{}, Now: time.Now, Metrics: m}.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`toy_build_info{version="v1"} 1`, "toy_repairs_total 2", `toy_adds_total{result="ok"} 1`, `toy_pass_seconds_bucket{le="1"} 1`, "toy_ready 1", "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(w.Body.String(), "\n"+line) {
			t.Errorf("%q is missing in\n%s", line, w.Body)
		}
	}
}

func TestStateFile(t *testing.T) {
	type state struct{ Subnet string }
	file := filepath.Join(t.TempDir(), "deep", "state.json")
	if _, found, err := agent.LoadState[state](file); found || err != nil {
		t.Errorf("no file: %v, %v", found, err)
	}
	if err := agent.SaveState(file, state{"10.0.0.0/24"}); err != nil {
		t.Fatal(err)
	}
	if got, found, err := agent.LoadState[state](file); !found || err != nil || got.Subnet != "10.0.0.0/24" {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(file, []byte(`{"Subnet":"10.0.0.0/24"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, found, err := agent.LoadState[state](file); found || got.Subnet != "" || err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a damaged file: %+v, %v, %v", got, found, err)
	}
}
