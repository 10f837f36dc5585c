// Package strictjson reads JSON strictly. Go's decoder ignores the case of keys, and uses the last of repeated keys; a validator must not see other
// values than the plugin that uses the text.
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

// Object is a JSON object. Its keys are unique, case-sensitive, and in the order of the text.
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
// errors, with their paths below at; the first MaxErrors are returned. The value is nil if the text is not valid JSON.
func Parse(text string, at *field.Path) (any, field.ErrorList) {
	if err := Check(text); err != nil {
		// Forbidden, not Invalid: Invalid would include the whole text in the message.
		return nil, field.ErrorList{field.Forbidden(at, err.Error())}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	r := reader{dec: dec}
	return r.value(at), r.errs
}

// Check returns an error with the position if a text is not one JSON value.
func Check(text string) error {
	dec := json.NewDecoder(strings.NewReader(text))
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return errors.New(explain(text, err))
	}
	end := dec.InputOffset()
	if rest := strings.TrimLeft(text[end:], " \t\r\n"); rest != "" {
		return errors.New("has text after the JSON value, at " + position(text, int64(len(text)-len(rest))))
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

func (r *reader) repeated(at *field.Path, key string) {
	if len(r.errs) == MaxErrors {
		return
	}
	err := field.Duplicate(at.Child(key), key)
	err.Detail = "is a repeated key; remove one of them"
	r.errs = append(r.errs, err)
}

// explain returns the message of a decoder error, with its position.
func explain(text string, err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		// The offset is that of the byte after the one that is wrong.
		return fmt.Sprintf("is not valid JSON: %s, at %s", syntax, position(text, syntax.Offset-1))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "is not valid JSON: it ends too early, at " + position(text, int64(len(text)))
	}
	return "is not valid JSON: " + err.Error()
}

// contextBytes is the number of bytes that errors show on each side of the position.
const contextBytes = 20

// position returns line:column of an offset, and the text around it.
func position(text string, offset int64) string {
	at := int(max(0, min(offset, int64(len(text)))))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	near := text[max(start, at-contextBytes):min(len(text), at+contextBytes)]
	near, _, _ = strings.Cut(near, "\n")
	return fmt.Sprintf("%s, near %s", lineColumn(text, at), strconv.Quote(strings.ToValidUTF8(near, "")))
}

// lineColumn returns line:column of an offset, both counted from 1, the column in characters.
func lineColumn(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return fmt.Sprintf("%d:%d", strings.Count(text[:at], "\n")+1, len([]rune(text[start:at]))+1)
}
