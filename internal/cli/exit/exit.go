// Package exit carries the exit status of a command from where it is decided to main, so that nothing but main ends
// the process.
package exit

import (
	"errors"
	"fmt"
	"io"
)

// The exit statuses of all commands.
const (
	// OK is everything as asked.
	OK = 0
	// Refused is a configuration that is invalid, or a change that is refused.
	Refused = 1
	// Unusable is input that cannot be judged, or a command that was called wrongly.
	Unusable = 2
)

// Code is an error that ends the process with a status.
type Code struct {
	Status int
	// Err is printed; nil if everything has been said already.
	Err error
}

// Error is the text of Err.
func (c *Code) Error() string {
	if c.Err == nil {
		return fmt.Sprintf("exit status %d", c.Status)
	}
	return c.Err.Error()
}

// Unwrap returns Err.
func (c *Code) Unwrap() error { return c.Err }

// Report prints an error to w, unless that was done, and returns the exit status. Errors that name no status are
// of calls and input: Unusable.
func Report(w io.Writer, program string, err error) int {
	if err == nil {
		return OK
	}
	code, ok := errors.AsType[*Code](err)
	if ok && code.Err == nil {
		return code.Status
	}
	_, _ = fmt.Fprintf(w, "%s: %v\n", program, err)
	if ok {
		return code.Status
	}
	return Unusable
}
