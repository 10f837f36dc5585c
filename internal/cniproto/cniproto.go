// Package cniproto is the protocol between the CNI shim and the server of a node agent over a Unix socket: one request and one response, each a JSON document,
// then the end of the connection.
package cniproto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is the version of this protocol. A server rejects every other one: shim and server are part of the same image, and versions differ only during an
// upgrade.
const Version = 1

// MaxMessage is the maximum length of a message in bytes.
const MaxMessage = 1 << 20

// Commands of CNI 1.1, as in CNI_COMMAND.
const (
	Add     = "ADD"
	Check   = "CHECK"
	Delete  = "DEL"
	GC      = "GC"
	Status  = "STATUS"
	Inquire = "VERSION"
)

// SupportedVersions returns the CNI versions that shim and server support.
func SupportedVersions() []string { return []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"} }

// NewestVersion is the newest of SupportedVersions.
const NewestVersion = "1.1.0"

// Error codes of the CNI specification (section "Error"). Codes from 100 on are the network's.
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

// Error is an error in CNI's format.
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

// AsError converts an error to CNI's format. An error without a code gets CodeInternal.
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
	// ID identifies the request in the logs of both sides.
	ID string `json:"id"`
	// Plugin is the name under which the shim was executed.
	Plugin string `json:"plugin"`
	// Command is one of the commands above. The other fields are the runtime's environment variables.
	Command     string `json:"command"`
	ContainerID string `json:"containerID,omitempty"`
	NetNS       string `json:"netns,omitempty"`
	IfName      string `json:"ifname,omitempty"`
	Args        string `json:"args,omitempty"`
	Path        string `json:"path,omitempty"`
	// Config is the runtime's standard input.
	Config json.RawMessage `json:"config"`
	// Timeout is how long the shim waits for the response.
	Timeout time.Duration `json:"timeout"`
}

// Response is the response. Result or Error is set; neither for a command without a result.
type Response struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	// Result is printed unchanged.
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

// Read reads a message until the end of r. Unknown fields, and data after the document, are errors.
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
