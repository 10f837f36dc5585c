package node

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHealthFollowsTheBoard(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	working, waiting := board{}, board{}
	working.status.Ready = true
	waiting.set(topicCNI, errors.New("plugins are missing"))
	working.set(topicEtcd, errors.New("etcd cannot be reached"))
	for _, tt := range []struct {
		why, path string
		board     board
		beat      time.Time
		code      int
		body      string
	}{
		{"it works", "/healthz", working, now, 200, "ok\n"},
		{"it has not begun, for lack of a subnet", "/healthz", waiting, time.Time{}, 200, "ok\n"},
		{"it is stuck", "/healthz", working, now.Add(-3 * time.Minute), 500, ""},
		{"losing etcd takes no readiness away", "/readyz", working, now, 200, "ready\netcd cannot be reached\n"},
		{"it waits", "/readyz", waiting, now, 503, "not ready\nplugins are missing\n"},
	} {
		read := func() board { return tt.board }
		h := handler(read, func() time.Time { return tt.beat }, func() time.Time { return now }, newMetrics("v1", read))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
		if w.Code != tt.code || tt.body != "" && w.Body.String() != tt.body {
			t.Errorf("%s: %d %q", tt.why, w.Code, w.Body)
		}
	}
}

func TestTheBoardReportsEachProblemOnce(t *testing.T) {
	var b board
	if !b.set(topicRoutes, errors.New("b")) || b.set(topicRoutes, errors.New("b")) {
		t.Error("the same problem counts twice")
	}
	before := b
	b.set(topicLease, errors.New("a"))
	b.set(topicEtcd, errors.New("away"))
	if diff := cmp.Diff([]string{"a", "b"}, b.report().Errors); diff != "" {
		t.Errorf("the report, which goes through etcd, has (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, before.report().Errors); diff != "" {
		t.Errorf("an earlier view has changed (-want +got):\n%s", diff)
	}
	b.set(topicRoutes, nil)
	if diff := cmp.Diff([]string{"a", "away"}, b.sentences()); diff != "" {
		t.Errorf("after one was solved there are (-want +got):\n%s", diff)
	}
}
