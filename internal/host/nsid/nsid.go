// Package nsid identifies network namespaces: their paths are used again, for another sandbox or after a restart of the node.
package nsid

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Of identifies the network namespace behind a path by device and inode. The error of a path that does not exist is fs.ErrNotExist.
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

// BelowRun returns the path of a network namespace as a container has it. Runtimes name /var/run, which is a link to /run on nodes, and not
// in images.
func BelowRun(path string) string {
	if rest, ok := strings.CutPrefix(path, "/var/run/"); ok {
		return "/run/" + rest
	}
	return path
}
