package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	// inotifyFile has the limit of inotify instances of root, which the nodes of all labs share.
	inotifyFile = "/proc/sys/fs/inotify/max_user_instances"
	// inotifyInstances suffices for about ten labs: a lab of three nodes uses about 50, and the kernel's default is 128. At the limit,
	// kubelets, container runtimes and kube-proxy exit with "too many open files".
	inotifyInstances = 1024
)

// raiseLimit raises the limit in a file of /proc/sys to at least a value.
func raiseLimit(file string, least int) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if limit >= least {
		return nil
	}
	return os.WriteFile(file, []byte(strconv.Itoa(least)), 0)
}
