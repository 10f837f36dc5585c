package bootimage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Sizes and offsets of ECMA-119 (ISO 9660).
const (
	sector       = 2048
	descriptors  = 16 // the sector of the first volume descriptor
	primary      = 1
	terminator   = 255
	rootRecord   = 156 // of the root directory, in the primary descriptor
	recordHead   = 33
	flagDir      = 1 << 1
	flagMore     = 1 << 7 // the file goes on in the next record
	maxDirectory = 1 << 20
)

var errNotFound = errors.New("no such file in the image")

// isoFS finds files of an ISO 9660 image. It reads the primary volume with optional Rock Ridge names.
type isoFS struct {
	image io.ReaderAt
	size  int64
	root  Area
}

func openISO(image io.ReaderAt, size int64) (*isoFS, error) {
	fs := &isoFS{image: image, size: size}
	// The list has three to five descriptors; the bound only keeps a damaged image from being read to its end.
	for n := range int64(64) {
		var d [sector]byte
		if _, err := image.ReadAt(d[:], (descriptors+n)*sector); err != nil {
			return nil, fmt.Errorf("read volume descriptor: %w", unexpected(err))
		}
		if string(d[1:6]) != "CD001" || d[0] == terminator {
			break
		}
		if d[0] != primary {
			continue
		}
		if block := binary.LittleEndian.Uint16(d[128:]); block != sector {
			return nil, fmt.Errorf("the ISO has blocks of %d bytes: only %d is supported", block, sector)
		}
		fs.root = extent(d[rootRecord:])
		return fs, nil
	}
	return nil, errors.New("not an ISO 9660 image")
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// extent returns the position of a record's content.
func extent(record []byte) Area {
	return Area{
		Offset: int64(binary.LittleEndian.Uint32(record[2:])) * sector,
		Length: int64(binary.LittleEndian.Uint32(record[10:])),
	}
}

// find returns the position of the file at a slash path. The error is errNotFound if there is none.
func (fs *isoFS) find(path string) (Area, error) {
	at, dir := fs.root, true
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if !dir {
			return Area{}, fmt.Errorf("%s: %w", path, errNotFound)
		}
		content, err := fs.read(at)
		if err != nil {
			return Area{}, fmt.Errorf("read a directory of %s: %w", path, err)
		}
		record, err := lookup(content, name)
		if err != nil {
			return Area{}, fmt.Errorf("%s: %w", path, err)
		}
		if record[25]&flagMore != 0 {
			return Area{}, fmt.Errorf("%s: the file is in several pieces", path)
		}
		at, dir = extent(record), record[25]&flagDir != 0
	}
	if dir {
		return Area{}, fmt.Errorf("%s is a directory", path)
	}
	return at, nil
}

// read returns the content of a directory or a small file.
func (fs *isoFS) read(a Area) ([]byte, error) {
	if a.Length > maxDirectory || a.Offset > fs.size-a.Length {
		return nil, fmt.Errorf("%d bytes at %d: damaged image", a.Length, a.Offset)
	}
	content := make([]byte, a.Length)
	if _, err := fs.image.ReadAt(content, a.Offset); err != nil && (err != io.EOF || a.Offset+a.Length > fs.size) {
		return nil, unexpected(err)
	}
	return content, nil
}

// lookup finds the record of a name in a directory. It ignores the case of names without Rock Ridge, which are upper case.
func lookup(directory []byte, name string) ([]byte, error) {
	for at := 0; at < len(directory); {
		length := int(directory[at])
		if length == 0 {
			// Records do not cross sectors: the rest of this one is filled with zeros.
			at += sector - at%sector
			continue
		}
		if length < recordHead+1 || at+length > len(directory) || recordHead+int(directory[at+32]) > length {
			return nil, errors.New("damaged directory")
		}
		record := directory[at : at+length]
		plain, long := names(record)
		if long == name || long == "" && strings.EqualFold(plain, name) {
			return record, nil
		}
		at += length
	}
	return nil, errNotFound
}

// names returns a record's name without its version, and its Rock Ridge name, which is empty if there is none.
func names(record []byte) (plain, long string) {
	n := int(record[32])
	plain, _, _ = strings.Cut(string(record[recordHead:recordHead+n]), ";")
	plain = strings.TrimSuffix(plain, ".")
	rest := record[recordHead+n:]
	if n%2 == 0 && len(rest) > 0 {
		rest = rest[1:]
	}
	// System use entries: two letters, a length, a version, and data.
	for len(rest) >= 4 {
		size := int(rest[2])
		if size < 4 || size > len(rest) {
			break
		}
		if rest[0] == 'N' && rest[1] == 'M' && size >= 5 {
			long += string(rest[5:size])
		}
		rest = rest[size:]
	}
	return plain, long
}
