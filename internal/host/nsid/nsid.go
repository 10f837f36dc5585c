// Package nsid identifies network namespaces, whose paths are reused by other sandboxes and after a restart of the node.
package nsid

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Of returns an identifier of the network namespace at a path, from its device and inode. The error wraps fs.ErrNotExist if the path does not exist.
func Of(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("%s has no inode", path)
	}
	return strconv.FormatUint(stat.Dev, 16) + ":" + strconv.FormatUint(stat.Ino, 10), nil
}

// BelowRun returns the path of a network namespace inside a container. Runtimes report paths below /var/run, which is a link to /run on nodes, but not in
// images.
func BelowRun(path string) string {
	if rest, ok := strings.CutPrefix(path, "/var/run/"); ok {
		return "/run/" + rest
	}
	return path
}
