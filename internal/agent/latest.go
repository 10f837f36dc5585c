package agent

import (
	"errors"
	"sync"
)

// Latest lets callers that ask at the same time share one reading of something that changes. Each gets a value that was read after its call began: many
// pods that start at once make few readings, and none has a value that was out of date when it asked. Read must be set.
type Latest[T any] struct {
	Read func() (T, error)

	mu sync.Mutex
	// next is the reading that has not begun, and last the one before it; nil if there is none.
	next, last *reading[T]
}

type reading[T any] struct {
	// done is closed when value and err are set.
	done  chan struct{}
	value T
	err   error
}

// errUnfinished is the error of a reading that has panicked.
var errUnfinished = errors.New("the reading has not finished")

// Get returns the value of a reading that begins after the call, and its error.
func (l *Latest[T]) Get() (T, error) {
	l.mu.Lock()
	r, before, first := l.next, l.last, l.next == nil
	if first {
		r = &reading[T]{done: make(chan struct{}), err: errUnfinished}
		l.next = r
	}
	l.mu.Unlock()
	if !first {
		<-r.done
		return r.value, r.err
	}
	defer close(r.done)
	if before != nil {
		<-before.done
	}
	l.mu.Lock()
	l.next, l.last = nil, r
	l.mu.Unlock()
	r.value, r.err = l.Read()
	return r.value, r.err
}

// LatestBy is Latest for each of many keys. It keeps nothing of a key that no one asks for. The zero value is ready for use.
type LatestBy[T any] struct {
	mu  sync.Mutex
	all map[string]*asked[T]
}

// asked is the reading of a key, and the number of callers that wait for it.
type asked[T any] struct {
	Latest[T]
	callers int
}

// Get returns the value of a reading of a key that begins after the call, and its error.
func (l *LatestBy[T]) Get(key string, read func() (T, error)) (T, error) {
	l.mu.Lock()
	if l.all == nil {
		l.all = map[string]*asked[T]{}
	}
	a := l.all[key]
	if a == nil {
		a = &asked[T]{Latest: Latest[T]{Read: read}}
		l.all[key] = a
	}
	a.callers++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.callers--; a.callers == 0 {
			delete(l.all, key)
		}
	}()
	return a.Get()
}
