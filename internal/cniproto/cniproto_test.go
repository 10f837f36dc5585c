package cniproto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMessagesRoundTrip(t *testing.T) {
	sent := Request{Version: Version, ID: "1", Plugin: "toy", Command: Add, ContainerID: "c", NetNS: "/n", IfName: "eth0", Args: "A=b", Path: "/p", Config: json.RawMessage(`{"a":1}`), Timeout: 5}
	var wire bytes.Buffer
	if err := Write(&wire, sent); err != nil {
		t.Fatal(err)
	}
	var got Request
	if err := Read(&wire, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, got); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedMessagesAreRefused(t *testing.T) {
	for _, row := range []struct{ why, message, want string }{
		{"nothing", "", "decode"},
		{"cut off", `{"version":1,"id":"a`, "decode"},
		{"an unknown field", `{"version":1,"idd":"a"}`, "unknown field"},
		{"two documents", `{"version":1}{"version":1}`, "more than one"},
		{"another type", `{"version":"1"}`, "decode"},
		{"too long", `{"id":"` + strings.Repeat("a", MaxMessage) + `"}`, ErrTooLong.Error()},
	} {
		if err := Read(strings.NewReader(row.message), &Response{}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.why, err)
		}
	}
	if err := Write(&bytes.Buffer{}, Response{ID: strings.Repeat("a", MaxMessage)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("a message that is too long is written: %v", err)
	}
}

func TestErrorsKeepTheirCodes(t *testing.T) {
	if e := AsError(fmt.Errorf("attach: %w", Errorf(CodeTryAgain, "no address"))); e.Code != CodeTryAgain || e.Error() != "no address" {
		t.Errorf("%+v", e)
	}
	if e := AsError(errors.New("boom")); e.Code != CodeInternal || e.Message != "boom" {
		t.Errorf("%+v", e)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"1","command":"ADD","config":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r Request
		if Read(bytes.NewReader(raw), &r) == nil {
			if err := Write(&bytes.Buffer{}, r); err != nil && !errors.Is(err, ErrTooLong) {
				t.Errorf("what is read cannot be written: %v", err)
			}
		}
	})
}
