// Package cniproto is what the CNI shim and the server of a node agent say to one another over a unix socket: one request, one
// response, a JSON document each, then the end of the connection.
package cniproto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is the version of this protocol. A server refuses every other one: shim and server are of one image, and a mixture
// is of an upgrade that goes on.
const Version = 1

// MaxMessage is how long a message may be in bytes.
const MaxMessage = 1 << 20

// The commands of CNI 1.1, as CNI_COMMAND has them.
const (
	Add     = "ADD"
	Check   = "CHECK"
	Delete  = "DEL"
	GC      = "GC"
	Status  = "STATUS"
	Inquire = "VERSION"
)

// SupportedVersions are the versions of CNI that shim and server speak.
func SupportedVersions() []string { return []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"} }

// NewestVersion is the newest of SupportedVersions.
const NewestVersion = "1.1.0"

// The error codes of the CNI specification (section "Error"), and our own from 100 on.
const (
	CodeIncompatibleVersion = 1
	CodeUnknownContainer    = 3
	CodeInvalidEnvironment  = 4
	CodeIO                  = 5
	CodeDecode              = 6
	CodeInvalidConfig       = 7
	CodeTryAgain            = 11
	CodeNotAvailable        = 50
	CodeInternal            = 999
)

// Error is an error as CNI reports it.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"msg"`
	Details string `json:"details,omitempty"`
}

func (e *Error) Error() string {
	if e.Details == "" {
		return e.Message
	}
	return e.Message + "; " + e.Details
}

// Errorf returns an error with a code.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns an error as CNI reports it. An error without a code has CodeInternal.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// Request is one call of the shim.
type Request struct {
	Version int `json:"version"`
	// ID names the request in logs of both sides.
	ID string `json:"id"`
	// Plugin is the name under which the shim was called.
	Plugin string `json:"plugin"`
	// Command is one of the commands above; the other fields are what the runtime passes in the environment.
	Command     string `json:"command"`
	ContainerID string `json:"containerID,omitempty"`
	NetNS       string `json:"netns,omitempty"`
	IfName      string `json:"ifname,omitempty"`
	Args        string `json:"args,omitempty"`
	Path        string `json:"path,omitempty"`
	// Config is what the runtime passes on standard input.
	Config json.RawMessage `json:"config"`
	// Timeout is how long the shim waits for the response.
	Timeout time.Duration `json:"timeout"`
}

// Response is the answer. Either of its fields is set; neither is for a command that returns nothing.
type Response struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	// Result is printed as it is.
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// ErrTooLong is the error of a message of more than MaxMessage bytes.
var ErrTooLong = fmt.Errorf("the message is longer than %d bytes", MaxMessage)

// Write writes a message.
func Write(w io.Writer, message any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(raw) > MaxMessage {
		return ErrTooLong
	}
	_, err = w.Write(raw)
	return err
}

// Read reads a message up to the end of what r has. Unknown fields, and anything after the document, are errors.
func Read(r io.Reader, into any) error {
	raw, err := io.ReadAll(io.LimitReader(r, MaxMessage+1))
	if err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	if len(raw) > MaxMessage {
		return ErrTooLong
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	if d.More() {
		return errors.New("decode message: there is more than one document")
	}
	return nil
}
