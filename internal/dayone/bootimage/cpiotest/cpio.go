// Package cpiotest reads archives in the kernel's format (cpio, newc) and payloads of boot images, for tests. Unlike the kernel, it reports any error in an
// archive.
package cpiotest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// File is a regular file of an archive.
type File struct {
	Name    string
	Mode    uint32 // permission bits
	Content []byte
}

// The form of a header: the magic number and thirteen fields of eight hexadecimal digits, by their place.
const (
	magic         = "070701"
	headerSize    = 110
	fieldMode     = 1
	fieldSize     = 6
	fieldNameSize = 11
	fieldCount    = 13
	trailer       = "TRAILER!!!"
	typeMask      = 0o170000
	typeRegular   = 0o100000
	longestName   = 4096 // PATH_MAX of the kernel
)

// Unpack reads the files of a payload, compressed or not, such as the content of an area. It ignores zeros after the payload.
func Unpack(payload []byte) ([]File, error) {
	if !bytes.HasPrefix(payload, []byte{0x1f, 0x8b}) {
		return Read(payload)
	}
	zip, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("uncompress archive: %w", err)
	}
	// The area's remaining zeros are no second compressed stream.
	zip.Multistream(false)
	archive, err := io.ReadAll(zip)
	if err != nil {
		return nil, fmt.Errorf("uncompress archive: %w", err)
	}
	return Read(archive)
}

// Read returns the regular files of an archive up to its trailer. It ignores directories, links, devices, and data after the trailer.
func Read(data []byte) ([]File, error) {
	var files []File
	for at := int64(0); ; {
		h, err := parseHeader(data, at)
		if err != nil {
			return nil, err
		}
		if h.name == trailer {
			return files, nil
		}
		if h.mode&typeMask == typeRegular {
			files = append(files, File{Name: h.name, Mode: h.mode & 0o7777, Content: data[h.begin:h.end]})
		}
		at = h.end + padding(h.end)
	}
}

func padding(n int64) int64 { return (4 - n%4) % 4 }

// errShort is the error of a truncated archive.
var errShort = errors.New("archive is cut off")

// header is the header of an entry, with the position of its content.
type header struct {
	name       string
	mode       uint32
	begin, end int64
}

func parseHeader(data []byte, at int64) (header, error) {
	if at+headerSize > int64(len(data)) {
		return header{}, fmt.Errorf("header at byte %d: %w", at, errShort)
	}
	raw := data[at : at+headerSize]
	if m := string(raw[:len(magic)]); m != magic {
		return header{}, fmt.Errorf("no archive header at byte %d: %q", at, m)
	}
	var f [fieldCount]uint64
	for i := range f {
		text := string(raw[len(magic)+8*i : len(magic)+8*i+8])
		v, err := strconv.ParseUint(text, 16, 32)
		if err != nil {
			return header{}, fmt.Errorf("header at byte %d: %q is not a hexadecimal number", at, text)
		}
		f[i] = v
	}
	nameEnd := at + headerSize + int64(f[fieldNameSize])
	begin := nameEnd + padding(nameEnd)
	end := begin + int64(f[fieldSize])
	if f[fieldNameSize] < 2 || f[fieldNameSize] > longestName {
		return header{}, fmt.Errorf("header at byte %d: a name of %d bytes", at, f[fieldNameSize])
	}
	if nameEnd > int64(len(data)) || f[fieldSize] > 0 && end > int64(len(data)) {
		return header{}, fmt.Errorf("entry at byte %d: %w", at, errShort)
	}
	name := string(data[at+headerSize : nameEnd-1])
	if data[nameEnd-1] != 0 || strings.ContainsRune(name, 0) {
		return header{}, fmt.Errorf("entry at byte %d: its name does not end at the length in the header", at)
	}
	return header{name: name, mode: uint32(f[fieldMode]), begin: min(begin, int64(len(data))), end: min(end, int64(len(data)))}, nil
}
