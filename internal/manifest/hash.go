package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
)

// Hash returns a hash of the content of a rendered object: 32 hexadecimal digits, which are the same in every process.
func Hash(o Object) string {
	h := hasher{Hash: sha256.New()}
	h.tree(o.Object.Object, 0)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// hasher writes values so that different trees never result in the same bytes: each is preceded by its type and length.
type hasher struct {
	hash.Hash
	buf  []byte
	keys [][]string // by depth, so that one list serves all maps of a depth
}

func (h *hasher) tree(m map[string]any, depth int) {
	for len(h.keys) <= depth {
		h.keys = append(h.keys, nil)
	}
	keys := h.keys[depth][:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	h.keys[depth] = keys
	h.head('m', uint64(len(keys)))
	for _, k := range keys {
		h.text('k', k)
		h.value(m[k], depth+1)
	}
}

func (h *hasher) value(v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		h.tree(v, depth)
	case []any:
		h.head('l', uint64(len(v)))
		for _, entry := range v {
			h.value(entry, depth)
		}
	case string:
		h.text('s', v)
	case int64:
		h.head('i', uint64(v))
	case float64:
		h.number(v)
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		h.head('b', n)
	case nil:
		h.head('0', 0)
	default:
		h.text('?', fmt.Sprintf("%T %v", v, v))
	}
}

// number writes a whole number as an integer, since YAML and JSON decode "1" into different types.
func (h *hasher) number(v float64) {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		h.head('i', uint64(int64(v)))
		return
	}
	h.head('f', math.Float64bits(v))
}

func (h *hasher) head(kind byte, n uint64) {
	h.buf = binary.AppendUvarint(append(h.buf[:0], kind), n)
	h.Write(h.buf)
}

func (h *hasher) text(kind byte, s string) {
	h.buf = binary.AppendUvarint(append(h.buf[:0], kind), uint64(len(s)))
	h.buf = append(h.buf, s...)
	h.Write(h.buf)
}
