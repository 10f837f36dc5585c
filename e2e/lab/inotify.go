package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	// inotifyFile limits the inotify instances of root on the machine, which the nodes of all labs share.
	inotifyFile = "/proc/sys/fs/inotify/max_user_instances"
	// inotifyInstances is enough for some ten labs: one of three nodes uses about 50, and the kernel's default is 128. Without one left,
	// kubelets, container runtimes and kube-proxy end with "too many open files".
	inotifyInstances = 1024
)

// raiseLimit raises the limit in a file of the kernel to a value, and leaves a higher one.
func raiseLimit(file string, least int) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	have, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if have >= least {
		return nil
	}
	return os.WriteFile(file, []byte(strconv.Itoa(least)), 0)
}
