package pki

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNoteIsTruncatedAtACharacter: the API server refuses an event whose text is not UTF-8.
func TestNoteIsTruncatedAtACharacter(t *testing.T) {
	long := "a" + strings.Repeat("ü", maxNote)
	note := noteOf(long)
	if !utf8.ValidString(note) || len(note) > maxNote || !strings.HasPrefix(long, note) {
		t.Errorf("the note has %d bytes, valid %t", len(note), utf8.ValidString(note))
	}
	if short := "short"; noteOf(short) != short {
		t.Errorf("%q becomes %q", short, noteOf(short))
	}
}
