package bootimage

import (
	"bytes"
	"fmt"
	"io"
)

// Image is a base image with an overlaid or appended part. Creating it reads nothing. Its methods are safe for concurrent use if the base's ReadAt is.
type Image struct {
	parts []part
	size  int64
}

// part is a range of length bytes of the image at begin, which is read from a source at offset from.
type part struct {
	begin, length int64
	source        io.ReaderAt
	from          int64
}

// TooLargeError is the error of a payload that does not fit into the reserved area of an image.
type TooLargeError struct {
	// Payload and Area are sizes in bytes.
	Payload, Area int64
}

// Error names both sizes, and what can be done.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the compressed Ignition configuration has %d bytes, and the image reserves %d: "+
		"configure fewer interfaces before boot and the others at first boot, or boot the initramfs, which has no limit", e.Payload, e.Area)
}

// ISO overlays the area of a base image of size bytes with a payload, and the rest of the area with zeros. The error is a TooLargeError, or that of an area
// outside the image.
func ISO(base io.ReaderAt, size int64, area Area, payload []byte) (*Image, error) {
	if err := area.check(size); err != nil {
		return nil, err
	}
	n := int64(len(payload))
	if n > area.Length {
		return nil, &TooLargeError{Payload: n, Area: area.Length}
	}
	i := &Image{}
	i.add(base, 0, area.Offset)
	i.add(bytes.NewReader(payload), 0, n)
	i.add(zeros{}, 0, area.Length-n)
	i.add(base, area.Offset+area.Length, size-area.Offset-area.Length)
	return i, nil
}

// Initramfs appends a payload to a base initramfs of size bytes, aligned to four bytes: the kernel skips zeros between archives, and requires the alignment
// of uncompressed ones.
func Initramfs(base io.ReaderAt, size int64, payload []byte) *Image {
	n := int64(len(payload))
	i := &Image{}
	i.add(base, 0, size)
	i.add(zeros{}, 0, padding(size))
	i.add(bytes.NewReader(payload), 0, n)
	i.add(zeros{}, 0, padding(n))
	return i
}

func (i *Image) add(source io.ReaderAt, from, length int64) {
	if length <= 0 {
		return
	}
	i.parts = append(i.parts, part{begin: i.size, length: length, source: source, from: from})
	i.size += length
}

// Size returns the image's size in bytes.
func (i *Image) Size() int64 { return i.size }

// Reader returns a new reader of the image.
func (i *Image) Reader() *io.SectionReader { return io.NewSectionReader(i, 0, i.size) }

// ReadAt implements io.ReaderAt. If the base is shorter than its size, the error is io.ErrUnexpectedEOF.
func (i *Image) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read image at %d: negative offset", off)
	}
	done := 0
	for _, part := range i.parts {
		at := off + int64(done) - part.begin
		if done == len(p) || at < 0 {
			break
		}
		if at >= part.length {
			continue
		}
		want := p[done:min(int64(len(p)), int64(done)+part.length-at)]
		n, err := part.source.ReadAt(want, part.from+at)
		done += n
		if n < len(want) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return done, err
		}
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// zeros is an endless source of zero bytes.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}
