package multus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateRaw checks that a raw CNI configuration is one JSON object, of one plugin ("type") or of several
// ("plugins"). What is in it is the plugins' business.
func validateRaw(text string, at *field.Path) field.ErrorList {
	if strings.TrimSpace(text) == "" {
		return field.ErrorList{field.Required(at, "a network of type Raw needs its CNI configuration as JSON").WithOrigin(RuleRawCNIConfig)}
	}
	// Forbidden, not Invalid: the sentence shows the place, and the whole value would bury it.
	refuse := func(detail string) field.ErrorList {
		return field.ErrorList{field.Forbidden(at, detail).WithOrigin(RuleRawCNIConfig)}
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return refuse(jsonMistake(text, err))
	}
	end := decoder.InputOffset()
	if rest := strings.TrimLeft(text[end:], " \t\r\n"); rest != "" {
		return refuse("has text after the JSON object, at " + place(text, int64(len(text)-len(rest))))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return refuse(`is not a JSON object; write {"cniVersion": ..., "type": ...}`)
	}
	plugin, isText := object["type"].(string)
	plugins, isList := object["plugins"].([]any)
	if (!isText || plugin == "") && (!isList || len(plugins) == 0) {
		return refuse(`names no plugin; add "type", or "plugins" with a list of plugins`)
	}
	return nil
}

// jsonMistake says what is wrong with JSON, and where.
func jsonMistake(text string, err error) string {
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

// place is line:column of an offset, both from 1 and the column in characters, and the text around it.
func place(text string, offset int64) string {
	at := int(max(0, min(offset, int64(len(text)))))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line := strings.Count(text[:at], "\n") + 1
	column := len([]rune(text[start:at])) + 1
	near := text[max(start, at-around):min(len(text), at+around)]
	near, _, _ = strings.Cut(near, "\n")
	return fmt.Sprintf("%d:%d, near %s", line, column, strconv.Quote(strings.ToValidUTF8(near, "")))
}
