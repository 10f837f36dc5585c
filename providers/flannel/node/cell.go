package node

import "sync"

// cell is a value that several goroutines share and can wait for.
type cell[T any] struct {
	mu      sync.Mutex
	value   T
	changed chan struct{}
}

func newCell[T any](value T) *cell[T] {
	return &cell[T]{value: value, changed: make(chan struct{})}
}

// get returns the value, and a channel that is closed when it changes.
func (c *cell[T]) get() (T, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.changed
}

// update changes the value through f, which gets a pointer to it and returns whether it changed anything.
func (c *cell[T]) update(f func(*T) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f(&c.value) {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}
