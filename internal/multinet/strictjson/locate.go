package strictjson

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Locate adds line:column to errors about values of a text that Parse has read with the path at: the position of the key or list element that the error
// names, or of the object in which it is missing. Errors about the whole text are unchanged, and those after the first MaxErrors, since each requires a scan of the
// text.
func Locate(text string, at *field.Path, errs field.ErrorList) {
	root, located := at.String(), 0
	for _, e := range errs {
		path, inside := strings.CutPrefix(e.Field, root)
		if !inside || path == "" || located == MaxErrors {
			continue
		}
		if offset, ok := find(text, path); ok {
			located++
			e.Detail += ", at " + lineColumn(text, offset)
		}
	}
}

// find returns the offset of the value at a path, as field.Path writes it, or of the innermost value that contains it.
func find(text, path string) (int, bool) {
	f := finder{text: text, path: path, dec: json.NewDecoder(strings.NewReader(text))}
	f.dec.UseNumber()
	f.value(0, true)
	return f.offset, f.matched > 0 || f.inside
}

// finder walks through text that Check has accepted.
type finder struct {
	text, path string
	dec        *json.Decoder
	// matched is the length of the path of the best value so far, offset its position.
	matched, offset int
	inside          bool
}

// next is the offset of the next token.
func (f *finder) next() int {
	at := int(f.dec.InputOffset())
	return at + len(f.text[at:]) - len(strings.TrimLeft(f.text[at:], " \t\r\n,:"))
}

// found reports whether the value of the whole path has been read, after which the rest of the text is not.
func (f *finder) found() bool { return f.matched == len(f.path) }

// value reads a value. If on is true, the first matched bytes of the path are the path of this value.
func (f *finder) value(matched int, on bool) {
	token, err := f.dec.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('['):
		for i := 0; !f.found() && f.dec.More(); i++ {
			at := f.next()
			f.value(f.step(matched, on, at, func() string { return fmt.Sprintf("[%d]", i) }))
		}
	case json.Delim('{'):
		f.inside = true
		for !f.found() && f.dec.More() {
			at := f.next()
			key, err := f.dec.Token()
			if err != nil {
				return
			}
			f.value(f.step(matched, on, at, func() string { return fmt.Sprintf(".%v", key) }))
		}
	default:
		return
	}
	if !f.found() {
		_, _ = f.dec.Token()
	}
}

// step matches one step of the path, and returns the arguments for value.
func (f *finder) step(matched int, on bool, at int, text func() string) (int, bool) {
	if !on {
		return matched, false
	}
	step := text()
	if !strings.HasPrefix(f.path[matched:], step) {
		return matched, false
	}
	matched += len(step)
	// The name of a key may begin another one.
	if rest := f.path[matched:]; rest != "" && rest[0] != '.' && rest[0] != '[' {
		return matched, false
	}
	if matched > f.matched {
		f.matched, f.offset = matched, at
	}
	return matched, true
}
