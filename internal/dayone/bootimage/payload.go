package bootimage

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// ConfigName is the path of Ignition's configuration in the initial file system.
const ConfigName = "config.ign"

// NetworkDir is the directory of NetworkManager's files in a CoreOS initial file system, for a network that is needed before Ignition runs. It is also used
// by "coreos-installer ... network embed".
const NetworkDir = "etc/coreos-firstboot-network"

// Payload packs an Ignition configuration, and more files for the initial file system, into a compressed archive for ISO or Initramfs.
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
