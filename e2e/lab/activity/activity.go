// Package activity reports the progress of long steps: which parts of a step are running, for how long, and what each is waiting for.
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

// Interval is the time between two reports about a running step.
const Interval = 10 * time.Second

// Step is a step with concurrent parts. The zero value has no running part.
type Step struct {
	mu    sync.Mutex
	parts []*part
}

// part is a running part of a step.
type part struct {
	mu      sync.Mutex
	name    string
	started time.Time
	note    string
}

type key struct{}

// Note records what the part of the context is waiting for: the first line of the text. Without a part in the context, it does
// nothing.
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

// Do runs a part of the step. Reports contain its name.
func (s *Step) Do(ctx context.Context, name string, f func(context.Context) error) error {
	p := &part{name: name, started: time.Now()}
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

// Watch calls a function once per Interval with a line for each part that has run for at least an Interval, until the returned
// function is called. No call happens after that function has returned.
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

// lines describes the parts that have run for at least an Interval, in the order of their start.
func (s *Step) lines(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, p := range s.parts {
		if since := now.Sub(p.started); since >= Interval {
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

// Lines returns a writer that passes each written line to Note, for commands that print their progress.
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
			// The line of a running step does not end with a newline.
			if strings.TrimSpace(l.rest) != "" {
				Note(l.ctx, l.rest)
			}
			return len(b), nil
		}
		l.rest = rest
		Note(l.ctx, line)
	}
}
