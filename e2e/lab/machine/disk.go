package machine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file of a node. Path is the path on the node.
type File struct {
	Path string
	Mode fs.FileMode
	Data []byte
}

// diskDirs are the directories on the disk of a node, with their modes.
var diskDirs = map[string]fs.FileMode{
	"etc/upper":            0o755,
	"etc/work":             0o755,
	"opt/cni/bin":          0o755,
	"run":                  0o755,
	"var/cache":            0o755,
	"var/lib/cni":          0o755,
	"var/lib/cno":          0o755,
	"var/lib/containerd":   0o711,
	"var/lib/kubelet":      0o755,
	"var/log/containers":   0o755,
	"var/log/pods":         0o755,
	"var/tmp":              0o777 | fs.ModeSticky,
	"etc/upper/cni/net.d":  0o755,
	"etc/upper/kubernetes": 0o755,
	"etc/upper/containerd": 0o755,
}

// Format creates the disk directory of a node and writes the files to it. The node
// must be off, because a running node may not see the files.
func Format(disk string, files []File) error {
	for dir, mode := range diskDirs {
		path := filepath.Join(disk, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("create the node's disk: %w", err)
		}
		// The umask may have reduced the mode.
		if err := os.Chmod(path, mode); err != nil {
			return fmt.Errorf("create the node's disk: %w", err)
		}
	}
	for name, target := range map[string]string{"var/run": "/run", "var/lock": "/run/lock"} {
		if err := os.Symlink(target, filepath.Join(disk, name)); err != nil && !os.IsExist(err) {
			return fmt.Errorf("create the node's disk: %w", err)
		}
	}
	for _, f := range files {
		if err := writeFile(disk, f); err != nil {
			return fmt.Errorf("write %s of the node: %w", f.Path, err)
		}
	}
	return nil
}

func writeFile(disk string, f File) error {
	path, err := DiskPath(disk, f.Path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, f.Data, f.Mode)
}
