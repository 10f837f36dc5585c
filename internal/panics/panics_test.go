package panics

import (
	"errors"
	"strings"
	"testing"
)

func TestCatch(t *testing.T) {
	var caught *Error
	note := func(e *Error) { caught = e }
	cause := errors.New("cause")
	if err := Catch(note, func() error { return cause }); !errors.Is(err, cause) || caught != nil {
		t.Errorf("an error of the function: %v, %v", err, caught)
	}
	if err := Catch(note, func() error { return nil }); err != nil || caught != nil {
		t.Errorf("no error of the function: %v, %v", err, caught)
	}
	err := Catch(note, func() error { panic("boom") })
	p, ok := errors.AsType[*Error](err)
	if !ok || p != caught || !strings.HasSuffix(err.Error(), "panic: boom") || !strings.Contains(string(p.Stack), "TestCatch") {
		t.Errorf("a panic: %v, %v", err, caught)
	}
}
