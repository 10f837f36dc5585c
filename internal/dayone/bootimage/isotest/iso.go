// Package isotest creates ISO images for tests: a plain ISO 9660 file system of a few files, like that around the reserved area of a CoreOS live image. It
// supports no boot records, second volumes or Rock Ridge names.
package isotest

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"
)

const sector = 2048

// AreaSize is the size of the reserved area of CoreOS images in bytes.
const AreaSize = 256 << 10

// CoreOS returns the files of an image that reserves AreaSize bytes, with a file system of rootfs bytes behind them.
func CoreOS(rootfs int) map[string][]byte {
	return map[string][]byte{
		"coreos/igninfo.json":       []byte(`{"file":"images/ignition.img"}`),
		"images/ignition.img":       make([]byte, AreaSize),
		"images/pxeboot/rootfs.img": Noise(rootfs),
		"images/pxeboot/vmlinuz":    []byte("a kernel"),
	}
}

// Noise returns n bytes that are the same each time, and hard to confuse with those of another place.
func Noise(n int) []byte {
	out := make([]byte, n)
	state := uint32(1)
	for i := range out {
		state = state*1664525 + 1013904223
		out[i] = byte(state >> 24)
	}
	return out
}

// Image creates an image of files by slash path. It writes names in upper case and with a version, as the standard requires.
func Image(files map[string][]byte) []byte {
	w := &writer{directories: map[string][]string{"": nil}, files: files, at: map[string]int{}}
	for _, name := range sortedKeys(files) {
		w.link(name)
	}
	// The system area, the primary descriptor and the terminator come first.
	w.out = make([]byte, 18*sector)
	for _, dir := range sortedKeys(w.directories) {
		w.at[dir] = len(w.out)
		// A directory of at most one sector is enough for tests.
		w.out = append(w.out, make([]byte, sector)...)
	}
	for _, name := range sortedKeys(files) {
		w.at[name] = len(w.out)
		w.out = append(w.out, files[name]...)
		w.out = append(w.out, make([]byte, (sector-len(w.out)%sector)%sector)...)
	}
	for dir := range w.directories {
		w.directory(dir)
	}
	w.descriptors()
	return w.out
}

type writer struct {
	out         []byte
	files       map[string][]byte
	directories map[string][]string // by path: what is in them, by path
	at          map[string]int      // by path: the first byte
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// link notes a path in its directory, and the directory in the one above.
func (w *writer) link(name string) {
	dir := strings.TrimPrefix(path.Dir("/"+name), "/")
	if slices.Contains(w.directories[dir], name) {
		return
	}
	w.directories[dir] = append(w.directories[dir], name)
	if dir != "" {
		w.link(dir)
	}
}

func (w *writer) directory(dir string) {
	at := w.at[dir]
	records := append(w.record("\x00", dir), w.record("\x01", dir)...)
	for _, name := range w.directories[dir] {
		id := strings.ToUpper(path.Base(name))
		if _, isDirectory := w.directories[name]; !isDirectory {
			id += ";1"
		}
		records = append(records, w.record(id, name)...)
	}
	if len(records) > sector {
		panic("isotest: more files in a directory than one sector holds")
	}
	copy(w.out[at:], records)
}

// record is the entry of a path in a directory.
func (w *writer) record(id, name string) []byte {
	r := make([]byte, (33+len(id)+1)/2*2)
	size, flags := len(w.files[name]), byte(0)
	if _, isDirectory := w.directories[name]; isDirectory {
		size, flags = sector, 2
	}
	r[0] = byte(len(r))
	both(r[2:], uint32(w.at[name]/sector))
	both(r[10:], uint32(size))
	r[25] = flags
	r[32] = byte(len(id))
	copy(r[33:], id)
	return r
}

// both writes a number as little and as big endian, as the standard does.
func both(to []byte, v uint32) {
	binary.LittleEndian.PutUint32(to, v)
	binary.BigEndian.PutUint32(to[4:], v)
}

func (w *writer) descriptors() {
	d := w.out[16*sector:]
	d[0] = 1
	copy(d[1:], "CD001\x01")
	binary.LittleEndian.PutUint16(d[128:], sector)
	binary.BigEndian.PutUint16(d[130:], sector)
	copy(d[156:], w.record("\x00", ""))
	d = w.out[17*sector:]
	d[0] = 255
	copy(d[1:], "CD001\x01")
}
