package bootimage

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Area is the part of an ISO that is reserved for a payload, in bytes from the image's beginning.
type Area struct {
	Offset, Length int64
}

// maxArea bounds what an image may reserve; CoreOS images reserve 256 KiB.
const maxArea = 64 << 20

func (a Area) check(size int64) error {
	if a.Offset < 0 || a.Length <= 0 || a.Length > maxArea || a.Offset > size-a.Length {
		return fmt.Errorf("the reserved area of %d bytes at %d does not lie in the image of %d bytes", a.Length, a.Offset, size)
	}
	return nil
}

// The files that describe the reserved area.
const (
	infoFile = "coreos/igninfo.json"
	areaFile = "images/ignition.img"
)

// The header of images before 2021: 24 bytes at the end of ISO 9660's system area, which is 32 KiB.
const (
	oldHeader = 32<<10 - 24
	oldMagic  = "coreiso+"
)

// FindArea returns the reserved area of an ISO of size bytes, as coreos-installer does: that of the file coreos/igninfo.json (on some architectures a part
// of a larger file), or else that of the header of older images, or else the file images/ignition.img.
func FindArea(iso io.ReaderAt, size int64) (Area, error) {
	area, err := findArea(iso, size)
	if err != nil {
		return Area{}, err
	}
	return area, area.check(size)
}

func findArea(iso io.ReaderAt, size int64) (Area, error) {
	fs, err := openISO(iso, size)
	if err != nil {
		return Area{}, err
	}
	info, err := fs.find(infoFile)
	switch {
	case err == nil:
		return fs.describedArea(info)
	case !errors.Is(err, errNotFound):
		return Area{}, err
	}
	if area, ok, err := headerArea(iso); ok || err != nil {
		return area, err
	}
	file, err := fs.find(areaFile)
	if errors.Is(err, errNotFound) {
		return Area{}, fmt.Errorf("the image reserves nothing for Ignition (no %s, no %s): it is not a CoreOS live ISO", infoFile, areaFile)
	}
	return file, err
}

// describedArea returns the area that the file at info describes.
func (fs *isoFS) describedArea(info Area) (Area, error) {
	raw, err := fs.read(info)
	if err != nil {
		return Area{}, fmt.Errorf("read %s: %w", infoFile, err)
	}
	var described struct {
		File   string `json:"file"`
		Offset int64  `json:"offset"`
		Length int64  `json:"length"`
	}
	if err := json.Unmarshal(raw, &described); err != nil {
		return Area{}, fmt.Errorf("read %s: %w", infoFile, err)
	}
	if described.File == "" {
		return Area{}, fmt.Errorf("%s names no file", infoFile)
	}
	file, err := fs.find(described.File)
	if err != nil {
		return Area{}, fmt.Errorf("%s names %q: %w", infoFile, described.File, err)
	}
	if described.Length == 0 {
		// Without a length, the area is the rest of the file.
		described.Length = file.Length - described.Offset
	}
	if described.Offset < 0 || described.Length <= 0 || described.Offset > file.Length-described.Length {
		return Area{}, fmt.Errorf("%s names %d bytes at %d of %q, which has %d", infoFile, described.Length, described.Offset, described.File, file.Length)
	}
	return Area{Offset: file.Offset + described.Offset, Length: described.Length}, nil
}

func headerArea(iso io.ReaderAt) (Area, bool, error) {
	var raw [24]byte
	if _, err := iso.ReadAt(raw[:], oldHeader); err != nil {
		return Area{}, false, fmt.Errorf("read the image's header: %w", err)
	}
	if !bytes.HasPrefix(raw[:], []byte(oldMagic)) {
		return Area{}, false, nil
	}
	offset, length := binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])
	if offset > 1<<62 || length > 1<<62 {
		return Area{}, true, fmt.Errorf("the image's header reserves %d bytes at %d", length, offset)
	}
	return Area{Offset: int64(offset), Length: int64(length)}, true, nil
}

// Used reports whether an area has content, which ISO would replace.
func Used(iso io.ReaderAt, area Area) (bool, error) {
	if area.Length > maxArea {
		return false, fmt.Errorf("the reserved area has %d bytes: the most is %d", area.Length, maxArea)
	}
	content := make([]byte, area.Length)
	if _, err := iso.ReadAt(content, area.Offset); err != nil && err != io.EOF {
		return false, fmt.Errorf("read the reserved area: %w", err)
	}
	return len(bytes.TrimLeft(content, "\x00")) > 0, nil
}
