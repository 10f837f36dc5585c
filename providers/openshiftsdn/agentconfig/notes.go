package agentconfig

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// NotesFile is the file in StateDir with the notes of the flows of br0, by cookie. A note states why a flow exists.
const NotesFile = "notes.json"

// EncodeNotes returns the content of NotesFile.
func EncodeNotes(notes map[uint64]string) map[string]string {
	out := make(map[string]string, len(notes))
	for cookie, note := range notes {
		out[strconv.FormatUint(cookie, 16)] = note
	}
	return out
}

// DecodeNotes decodes NotesFile.
func DecodeNotes(content []byte) (map[uint64]string, error) {
	var texts map[string]string
	if err := json.Unmarshal(content, &texts); err != nil {
		return nil, fmt.Errorf("read the notes of flows: %w", err)
	}
	out := make(map[uint64]string, len(texts))
	for text, note := range texts {
		cookie, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read the notes of flows: %q is not a cookie", text)
		}
		out[cookie] = note
	}
	return out, nil
}
