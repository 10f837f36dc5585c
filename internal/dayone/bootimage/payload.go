package bootimage

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// ConfigName is where Ignition looks for its configuration in the initial file system.
const ConfigName = "config.ign"

// NetworkDir is where a CoreOS initial file system looks for NetworkManager's files, for a network that is needed before
// Ignition has run (coreos-installer's "network embed" uses it too).
const NetworkDir = "etc/coreos-firstboot-network"

// maxPayload bounds what is unpacked: areas are of 256 KiB and full of text, which gzip makes at most 1032 times smaller.
const maxPayload = 64 << 20

// errNoPayload is of an area that holds zeros only.
var errNoPayload = errors.New("the image contains no Ignition configuration")

// Payload packs an Ignition configuration, and files that the initial file system needs besides, into a compressed
// archive for ISO or Initramfs.
func Payload(config []byte, more ...File) ([]byte, error) {
	archive, err := Archive(append([]File{{Name: ConfigName, Mode: 0o600, Content: config}}, more...))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	// Without a name and a time in its header, so that the same configuration is the same image.
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress archive: %w", err)
	}
	if _, err := zip.Write(archive); err != nil {
		return nil, fmt.Errorf("compress archive: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, fmt.Errorf("compress archive: %w", err)
	}
	return out.Bytes(), nil
}

// Unpack reads the files of a payload, compressed or not, such as the content of an area. Zeros after it do not matter.
// Empty reports whether an error means that there is none.
func Unpack(payload []byte) ([]File, error) {
	if len(bytes.TrimLeft(payload, "\x00")) == 0 {
		return nil, errNoPayload
	}
	if !bytes.HasPrefix(payload, []byte{0x1f, 0x8b}) {
		return Unarchive(payload)
	}
	zip, err := gzip.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("uncompress archive: %w", err)
	}
	// The area's remaining zeros are no second compressed stream.
	zip.Multistream(false)
	archive, err := io.ReadAll(io.LimitReader(zip, maxPayload+1))
	if err != nil {
		return nil, fmt.Errorf("uncompress archive: %w", err)
	}
	if len(archive) > maxPayload {
		return nil, fmt.Errorf("uncompress archive: more than %d bytes", maxPayload)
	}
	return Unarchive(archive)
}

// Empty reports whether Unpack failed because there is nothing to unpack.
func Empty(err error) bool { return errors.Is(err, errNoPayload) }
