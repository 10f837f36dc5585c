package agent

import (
	"log/slog"
	"maps"
	"slices"
)

// Topic identifies the subject of a problem. A topic has at most one problem at a time.
type Topic string

// Problems are the current problems: a sentence for each topic. It is an immutable value. The zero value has no problems.
type Problems struct{ sentences map[Topic]string }

// Set returns the problems after setting that of a topic, or removing it if err is nil, and whether they changed.
func (p Problems) Set(about Topic, err error) (Problems, bool) {
	sentence := ""
	if err != nil {
		sentence = err.Error()
	}
	if p.sentences[about] == sentence {
		return p, false
	}
	next := maps.Clone(p.sentences)
	if next == nil {
		next = map[Topic]string{}
	}
	if next[about] = sentence; sentence == "" {
		delete(next, about)
	}
	return Problems{next}, true
}

// Has reports whether any of the topics has a problem.
func (p Problems) Has(topics ...Topic) bool {
	return slices.ContainsFunc(topics, func(t Topic) bool { return p.sentences[t] != "" })
}

// Sentence returns the problem of a topic, empty if it has none.
func (p Problems) Sentence(about Topic) string { return p.sentences[about] }

// Len is how many topics have a problem.
func (p Problems) Len() int { return len(p.sentences) }

// Sentences returns the problems of all topics but some, sorted; nil if there are none.
func (p Problems) Sentences(except ...Topic) []string {
	var out []string
	for about, sentence := range p.sentences {
		if !slices.Contains(except, about) {
			out = append(out, sentence)
		}
	}
	slices.Sort(out)
	return out
}

// View is what a board shows at one moment.
type View[S any] struct {
	Status   S
	Problems Problems
}

// Board gathers what an agent reports: the network's own status and the problems. Make it with NewBoard.
type Board[S any] struct {
	cell *Cell[View[S]]
	log  *slog.Logger
}

// NewBoard returns a board with a status and no problems.
func NewBoard[S any](status S, log *slog.Logger) *Board[S] {
	return &Board[S]{cell: NewCell(View[S]{Status: status}), log: log}
}

// Get returns what the board shows, and a channel that is closed when that changes.
func (b *Board[S]) Get() (View[S], <-chan struct{}) { return b.cell.Get() }

// View returns what the board shows.
func (b *Board[S]) View() View[S] {
	view, _ := b.cell.Get()
	return view
}

// Update changes the status through f, which returns whether it changed anything. Maps and slices in it are replaced, never changed.
func (b *Board[S]) Update(f func(*S) bool) {
	b.cell.Update(func(v *View[S]) bool { return f(&v.Status) })
}

// Set sets the problem of a topic, or removes it if err is nil, and returns whether that is a change.
func (b *Board[S]) Set(about Topic, err error) (changed bool) {
	b.cell.Update(func(v *View[S]) bool {
		v.Problems, changed = v.Problems.Set(about, err)
		return changed
	})
	return changed
}

// Note is Set that logs each change.
func (b *Board[S]) Note(about Topic, err error) {
	changed := b.Set(about, err)
	switch {
	case !changed:
	case err != nil:
		b.log.Warn("problem detected", "about", string(about), "error", err)
	default:
		b.log.Info("problem resolved", "about", string(about))
	}
}
