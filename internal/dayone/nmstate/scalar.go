package nmstate

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// scalar decodes a number, a boolean, a text or an enumerated word.
func (d *decoder) scalar(n *yaml.Node, path string, v reflect.Value, t tag) {
	if n.Kind != yaml.ScalarNode {
		d.errorf(n, path, "is %s; one value is wanted", describe(n))
		return
	}
	if w, ok := v.Interface().(interface{ words() ([]string, bool) }); ok {
		t.words, t.numbered = w.words()
	}
	switch {
	case t.words != nil:
		d.word(n, path, v, t)
	case v.Kind() == reflect.Bool:
		d.boolean(n, path, v)
	case v.CanInt():
		if i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits()); err != nil {
			d.errorf(n, path, "is %s; a whole number from %d to %d is wanted", describe(n), int64(-1)<<(v.Type().Bits()-1), int64(^uint64(0)>>(65-v.Type().Bits())))
		} else {
			v.SetInt(i)
		}
	case v.CanUint():
		if u, ok := unsigned(n, v.Type().Bits()); !ok {
			d.errorf(n, path, "is %s; a whole number from 0 to %d is wanted", describe(n), ^uint64(0)>>(64-v.Type().Bits()))
		} else {
			v.SetUint(u)
		}
	case !textual(n):
		d.errorf(n, path, "is %s, which YAML takes for a number or boolean; put it in quotes", describe(n))
	default:
		v.SetString(n.Value)
	}
}

// unsigned decodes a number like NMState: decimal or, in lower case, hexadecimal; quoted or not. Only unquoted numbers may have YAML's prefixes.
func unsigned(n *yaml.Node, bits int) (uint64, bool) {
	s, base := strings.TrimPrefix(n.Value, "+"), 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		s, base = hex, 16
	} else if oct, ok := strings.CutPrefix(s, "0o"); ok && n.Style == 0 {
		s, base = oct, 8
	}
	u, err := strconv.ParseUint(s, base, bits)
	return u, err == nil
}

func (d *decoder) boolean(n *yaml.Node, path string, v reflect.Value) {
	switch strings.ToLower(n.Value) {
	case "1", "true", "yes", "on", "y":
		v.SetBool(true)
	case "0", "false", "no", "off", "n":
		v.SetBool(false)
	default:
		d.errorf(n, path, "is %s; true or false is wanted", describe(n))
	}
}

// word decodes an enumerated word, or its index where NMState accepts the kernel's numbers.
func (d *decoder) word(n *yaml.Node, path string, v reflect.Value, t tag) {
	if slices.Contains(t.words, n.Value) {
		v.SetString(n.Value)
		return
	}
	if t.second != "" && n.Value == t.second {
		v.SetString(t.meant)
		return
	}
	if i, err := strconv.Atoi(n.Value); err == nil && t.numbered && i >= 0 && i < len(t.words) {
		v.SetString(t.words[i])
		return
	}
	if o, ok := v.Interface().(interface{ refused() map[string]string }); ok && o.refused()[n.Value] != "" {
		d.errorf(n, path, "is %s, which %s", describe(n), o.refused()[n.Value])
		return
	}
	meant := ""
	if best, ok := suggest.Closest(n.Value, t.words, 2); ok && len(n.Value) > 2 {
		meant = fmt.Sprintf(" (was %s meant?)", best)
	}
	d.errorf(n, path, "is %s; wanted is one of %s%s", describe(n), strings.Join(t.words, ", "), meant)
}

// text decodes a value that implements encoding.TextUnmarshaler, such as an address.
func (d *decoder) text(n *yaml.Node, path string, into encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode {
		d.errorf(n, path, "is %s; one value is wanted", describe(n))
		return
	}
	if err := into.UnmarshalText([]byte(n.Value)); err != nil || n.Value == "" {
		d.errorf(n, path, "is %s, which is not an IP address", describe(n))
	}
}

// anyScalar decodes a number, boolean or text as text; null stays nil.
func (d *decoder) anyScalar(n *yaml.Node, path string, v reflect.Value) {
	d.lines[path] = n.Line
	switch {
	case isNull(n):
	case n.Kind != yaml.ScalarNode:
		d.errorf(n, path, "is %s; one value is wanted", describe(n))
	default:
		s := n.Value
		v.Set(reflect.ValueOf(&s))
	}
}

// oldNumber matches numbers of YAML 1.1 that are text in YAML 1.2, which NMState uses.
var oldNumber = regexp.MustCompile(`^[-+]?0[0-9]|_`)

// textual reports whether a scalar is text in YAML 1.2.
func textual(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!bool", "!!float":
		return oldNumber.MatchString(n.Value)
	case "!!int":
		return oldNumber.MatchString(n.Value)
	}
	return true
}
