package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestTheFirstConnectionOfThoseThatStayUnansweredIsTheOutcome(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	lost := func(began int) attempt {
		return attempt{began: at(began), ended: at(began).Add(probeTimeout), err: errors.New("timeout")}
	}
	won := func(began int) attempt { return attempt{began: at(began), ended: at(began + 1)} }
	refused := func(began int) attempt {
		return attempt{began: at(began), ended: at(began + 1), err: errors.New("refused")}
	}
	for _, c := range []struct {
		why      string
		attempts []attempt
		want     int // -1: not decided
	}{
		{"nothing is blocked", []attempt{won(0), won(10), won(20)}, -1},
		{"all after the first are blocked", []attempt{won(0), lost(10), lost(20)}, 10},
		{"a lost packet is not a block", []attempt{won(0), won(20), lost(10)}, -1},
		{"the block begins after a lost packet", []attempt{won(0), won(20), lost(10), lost(30)}, 30},
		{"a refused connection is not decided at once", []attempt{won(0), refused(10)}, -1},
		{"refused connections are decided after the timeout", []attempt{won(0), refused(10), refused(10 + int(probeTimeout.Milliseconds()))}, 10},
	} {
		decided, got := blocked(), -1
		for _, a := range c.attempts {
			if began, ok := decided(a); ok {
				got = int(began.Sub(start).Milliseconds())
				break
			}
		}
		if got != c.want {
			t.Errorf("%s: %d ms, want %d", c.why, got, c.want)
		}
	}
}

func TestEachLineOfInputHasAnOutcome(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now().UnixNano()
	input := "answered " + strings.TrimPrefix(server.URL, "http://") + "\nblocked " + closed.Addr().String() + "\nopen x\n"
	var got []outcome
	if err := probeLines(context.Background(), strings.NewReader(input), func(o any) error { got = append(got, o.(outcome)); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].At < begin || got[1].At < got[0].At || got[0].Error+got[1].Error != "" || !strings.Contains(got[2].Error, "open") {
		t.Errorf("%+v", got)
	}
}
