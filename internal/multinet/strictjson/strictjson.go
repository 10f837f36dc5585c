// Package strictjson reads JSON as it is written. The decoder of Go's library matches keys of other letters, and takes
// the last of a repeated key; a reader that checks a text must not see another value than the plugin that acts on it.
package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object is a JSON object. Its keys are in the order of the text, each once; keys that differ in their letters differ.
type Object struct {
	Keys   []string
	Values map[string]any
}

// Map returns the object, and the objects in it, as maps.
func (o *Object) Map() map[string]any {
	out := make(map[string]any, len(o.Keys))
	for k, v := range o.Values {
		out[k] = plain(v)
	}
	return out
}

func plain(v any) any {
	switch v := v.(type) {
	case *Object:
		return v.Map()
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	}
	return v
}

// Parse reads a text that is one JSON value: *Object, []any, string, json.Number, bool, or nil. Repeated keys are
// errors, with their paths below at; the first 32 are returned. The value is nil if the text is not valid JSON.
func Parse(text string, at *field.Path) (any, field.ErrorList) {
	if err := Check(text); err != nil {
		// Forbidden, not Invalid: the sentence shows the place, and the whole value would bury it.
		return nil, field.ErrorList{field.Forbidden(at, err.Error())}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	r := reader{dec: dec}
	return r.value(at), r.errs
}

// Check returns an error that shows the place if a text is not one JSON value.
func Check(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return errors.New(explain(text, err))
	}
	end := dec.InputOffset()
	if rest := strings.TrimLeft(text[end:], " \t\r\n"); rest != "" {
		return errors.New("has text after the JSON value, at " + place(text, int64(len(text)-len(rest))))
	}
	return nil
}

// reader walks through text that Check has accepted, so that no token can be an error.
type reader struct {
	dec  *json.Decoder
	errs field.ErrorList
}

func (r *reader) value(at *field.Path) any {
	token, _ := r.dec.Token()
	switch token {
	case json.Delim('['):
		list := []any{}
		for r.dec.More() {
			list = append(list, r.value(at.Index(len(list))))
		}
		_, _ = r.dec.Token()
		return list
	case json.Delim('{'):
		return r.object(at)
	}
	return token
}

func (r *reader) object(at *field.Path) *Object {
	o := &Object{Values: map[string]any{}}
	for r.dec.More() {
		token, _ := r.dec.Token()
		key, _ := token.(string)
		value := r.value(at.Child(key))
		if _, repeated := o.Values[key]; repeated {
			r.repeated(at, key)
			continue
		}
		o.Keys = append(o.Keys, key)
		o.Values[key] = value
	}
	_, _ = r.dec.Token()
	return o
}

// mostRepeated bounds the errors, since each has a path that can be nearly as long as the text.
const mostRepeated = 32

func (r *reader) repeated(at *field.Path, key string) {
	if len(r.errs) == mostRepeated {
		return
	}
	err := field.Duplicate(at.Child(key), key)
	err.Detail = "is a repeated key; remove one of them"
	r.errs = append(r.errs, err)
}

// explain describes an error of the decoder, and where it is.
func explain(text string, err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		// The offset is that of the byte after the one that is wrong.
		return fmt.Sprintf("is not valid JSON: %s, at %s", syntax, place(text, syntax.Offset-1))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "is not valid JSON: it ends too early, at " + place(text, int64(len(text)))
	}
	return "is not valid JSON: " + err.Error()
}

// around is how many bytes are shown on each side of a mistake.
const around = 20

// place is line:column of an offset, and the text around it.
func place(text string, offset int64) string {
	at := int(max(0, min(offset, int64(len(text)))))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	near := text[max(start, at-around):min(len(text), at+around)]
	near, _, _ = strings.Cut(near, "\n")
	return fmt.Sprintf("%s, near %s", lineColumn(text, at), strconv.Quote(strings.ToValidUTF8(near, "")))
}

// lineColumn is line:column of an offset, both from 1 and the column in characters.
func lineColumn(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return fmt.Sprintf("%d:%d", strings.Count(text[:at], "\n")+1, len([]rune(text[start:at]))+1)
}
