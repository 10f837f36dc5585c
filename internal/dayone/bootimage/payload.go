package bootimage

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// ConfigName is where Ignition looks for its configuration in the initial file system.
const ConfigName = "config.ign"

// NetworkDir is where a CoreOS initial file system looks for NetworkManager's files, for a network that is needed before
// Ignition has run (coreos-installer's "network embed" uses it too).
const NetworkDir = "etc/coreos-firstboot-network"

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
