// Package panics turns panics into errors, so that one request or one object of a user cannot end a program that serves many. It is pure.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is the error of a function that panicked, which is a bug of this project.
type Error struct {
	// Value is the argument of panic.
	Value any
	// Stack is the stack of the goroutine, for the log.
	Stack []byte
}

// Error reports a bug with the value of the panic.
func (e *Error) Error() string {
	return fmt.Sprintf("bug, please report it: panic: %v", e.Value)
}

// Catch calls f and returns its error. If f panics, it calls caught, for the log, and returns the *Error. Locks that f holds without a deferred call stay locked.
func Catch(caught func(*Error), f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &Error{Value: v, Stack: debug.Stack()}
			caught(p)
			err = p
		}
	}()
	return f()
}
