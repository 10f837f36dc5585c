package agent

import "sync"

// Cell is a value that several goroutines share and can wait for. Make it with NewCell.
type Cell[T any] struct {
	mu      sync.Mutex
	value   T
	changed chan struct{}
}

// NewCell returns a cell with a value.
func NewCell[T any](value T) *Cell[T] {
	return &Cell[T]{value: value, changed: make(chan struct{})}
}

// Get returns the value, and a channel that is closed when it changes.
func (c *Cell[T]) Get() (T, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.changed
}

// Update changes the value through f, which gets a pointer to it and returns whether it changed anything. What the value refers to
// is replaced, never changed: readers have it.
func (c *Cell[T]) Update(f func(*T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f(&c.value) {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}
