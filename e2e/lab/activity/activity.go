// Package activity says what long steps are doing: which parts of a step have not ended, for how long, and what each waits for.
package activity

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Interval is how often a step that runs is reported.
const Interval = 10 * time.Second

// Step is a step with parts that run at the same time. The zero value is a step of which no part has begun.
type Step struct {
	mu    sync.Mutex
	parts []*part
}

// part is one part of a step that runs.
type part struct {
	mu    sync.Mutex
	name  string
	begun time.Time
	note  string
}

type key struct{}

// Note records what the part that the context belongs to is waiting for. Of several lines the first one counts. Without a step there
// is nothing to record.
func Note(ctx context.Context, text string) {
	p, ok := ctx.Value(key{}).(*part)
	if !ok {
		return
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note = text
}

// Do runs a part of the step, which has a name for readers.
func (s *Step) Do(ctx context.Context, name string, f func(context.Context) error) error {
	p := &part{name: name, begun: time.Now()}
	s.mu.Lock()
	s.parts = append(s.parts, p)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.parts = slices.DeleteFunc(s.parts, func(other *part) bool { return other == p })
	}()
	return f(context.WithValue(ctx, key{}, p))
}

// Watch calls a function with a line for each part that has run for an Interval, once each Interval, until the returned function is
// called. That function returns when no further line can come.
func (s *Step) Watch(line func(string)) (stop func()) {
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		ticker := time.NewTicker(Interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-ticker.C:
				for _, text := range s.lines(now) {
					line(text)
				}
			}
		}
	})
	return func() {
		close(done)
		watcher.Wait()
	}
}

// lines are the parts that have run for an Interval, in the order in which they began.
func (s *Step) lines(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, p := range s.parts {
		if since := now.Sub(p.begun); since >= Interval {
			lines = append(lines, p.text(since))
		}
	}
	return lines
}

func (p *part) text(since time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s, for %s", p.name, since.Round(time.Second))
	if p.note != "" {
		text += ": " + p.note
	}
	return text
}

// Lines is a writer that notes each line that is written to it, for commands that print what they do.
func Lines(ctx context.Context) io.Writer { return &lines{ctx: ctx} }

type lines struct {
	ctx  context.Context //nolint:containedctx // it belongs to the part that the lines are of
	rest string
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest += string(b)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			// A step that has begun and not ended is a line without an end.
			if strings.TrimSpace(l.rest) != "" {
				Note(l.ctx, l.rest)
			}
			return len(b), nil
		}
		l.rest = rest
		Note(l.ctx, line)
	}
}
