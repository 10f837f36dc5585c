package agent

import "sync"

// Cell is a value that goroutines can share and wait for. Use NewCell to create one.
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

// Update changes the value through f, which receives a pointer to it and returns whether it has changed. f must replace maps and slices instead of changing
// them, since readers share them.
func (c *Cell[T]) Update(f func(*T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f(&c.value) {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}
