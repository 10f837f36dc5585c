// Package exit defines errors with an exit status, so that only main ends the process.
package exit

import (
	"errors"
	"fmt"
	"io"
)

// The exit statuses of all commands.
const (
	// OK means success.
	OK = 0
	// Refused means that the configuration is invalid or its change is refused.
	Refused = 1
	// Unusable means that the input cannot be read, or that the command line is invalid.
	Unusable = 2
)

// Code is an error that ends the process with a status.
type Code struct {
	Status int
	// Err is printed; nil if everything has been printed already.
	Err error
}

// Error returns the text of Err.
func (c *Code) Error() string {
	if c.Err == nil {
		return fmt.Sprintf("exit status %d", c.Status)
	}
	return c.Err.Error()
}

// Unwrap returns Err.
func (c *Code) Unwrap() error { return c.Err }

// Report prints an error to w, unless that was done, and returns the exit status: Unusable for errors that have
// none.
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
