package faults

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Call is a request that a client makes.
type Call struct {
	Method, Path string
	// Watch is true for a request that stays open.
	Watch bool
	Time  time.Time
	// Number counts the calls of a line from 1, Write the writes among them; Write is 0 for a read.
	Number, Write int
}

// Name is what two calls that ask for the same have in common.
func (c Call) Name() string {
	if c.Watch {
		return "WATCH " + c.Path
	}
	return c.Method + " " + c.Path
}

// Plan decides what happens to a request. It is called for one request at a time.
type Plan func(Call) Fault

// ErrDead is what a client gets that does not exist any more.
var ErrDead = errors.New("the process is dead")

// Line is a transport with faults. Its calls may be made at once.
type Line struct {
	mu    sync.Mutex
	plan  Plan
	calls []Call
	write int
	// streams are the answers that stay open, by what ends them.
	streams map[*stream]context.CancelFunc
}

// NewLine returns a line; without a plan nothing happens to calls.
func NewLine(p Plan) *Line { return &Line{plan: p, streams: map[*stream]context.CancelFunc{}} }

// Wrap puts the line in front of a transport, as rest.Config.Wrap asks for it.
func (l *Line) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call, fault := l.next(r)
		if !call.Watch {
			return fault.apply(r, next)
		}
		ctx, cancel := context.WithCancel(r.Context())
		response, err := fault.apply(r.WithContext(ctx), next)
		if err != nil {
			cancel()
			return nil, err
		}
		response.Body = l.follow(response.Body, cancel)
		return response, nil
	})
}

// follow remembers an answer until it ends.
func (l *Line) follow(body io.ReadCloser, cancel context.CancelFunc) io.ReadCloser {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &stream{ReadCloser: body}
	s.end = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.streams, s)
		cancel()
	}
	l.streams[s] = cancel
	return s
}

// next notes a call and asks the plan about it.
func (l *Line) next(r *http.Request) (Call, Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	watch, _ := strconv.ParseBool(r.URL.Query().Get("watch"))
	c := Call{Method: r.Method, Path: r.URL.Path, Watch: watch, Time: time.Now(), Number: len(l.calls) + 1}
	if r.Method != http.MethodGet {
		l.write++
		c.Write = l.write
	}
	l.calls = append(l.calls, c)
	if l.plan == nil {
		return c, None
	}
	return c, l.plan(c)
}

// Calls returns what was called so far.
func (l *Line) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Call(nil), l.calls...)
}

// Writes returns how many writes were tried so far.
func (l *Line) Writes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write
}

// Idle returns for how long no call was made; it is 0 before the first.
func (l *Line) Idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) == 0 {
		return 0
	}
	return time.Since(l.calls[len(l.calls)-1].Time)
}

// Set has another plan from now on.
func (l *Line) Set(p Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plan = p
}

// Cut ends the streams of all watches, and returns how many there were.
func (l *Line) Cut() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.streams {
		cancel()
	}
	return len(l.streams)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
