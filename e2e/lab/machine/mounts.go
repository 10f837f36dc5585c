package machine

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mounts is a sequence of file system changes that stops at the first failure.
type mounts struct{ err error }

func (m *mounts) do(what string, f func() error) {
	if m.err != nil {
		return
	}
	if err := f(); err != nil {
		m.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (m *mounts) mount(source, target, fstype string, flags uintptr, data string) {
	m.do(fmt.Sprintf("mount %s on %s", source, target), func() error {
		return unix.Mount(source, target, fstype, flags, data)
	})
}

func (m *mounts) mkdir(path string) {
	m.do("make "+path, func() error { return os.MkdirAll(path, 0o755) })
}

func (m *mounts) bind(source, target string) {
	m.mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
}

// furnish replaces the machine's file systems in a new mount namespace with those
// of the node.
func furnish(s Spec) error {
	m := &mounts{}
	m.mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	// Prepare the node's /run on its disk first, while the directories of the
	// machine that it contains are still visible.
	run := filepath.Join(s.Disk, "run")
	m.mount("tmpfs", run, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
	furnishRun(m, s, run)
	keepCgroups(m, filepath.Join(run, "cgroups"))

	etc := filepath.Join(s.Disk, "etc")
	m.mount("overlay", "/etc", "overlay", 0,
		fmt.Sprintf("lowerdir=/etc,upperdir=%s,workdir=%s", filepath.Join(etc, "upper"), filepath.Join(etc, "work")))
	m.bind(filepath.Join(s.Disk, "opt"), "/opt")
	m.bind(run, "/run")
	// This is the last of the disk's directories, because it hides the disk.
	m.bind(filepath.Join(s.Disk, "var"), "/var")

	m.mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	// A sysfs has the network devices of the namespace in which it was mounted.
	m.mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	m.mount("/run/cgroups", "/sys/fs/cgroup", "", unix.MS_BIND|unix.MS_REC, "")
	// Pods use mount propagation from and to the node.
	m.mount("none", "/", "", unix.MS_REC|unix.MS_SHARED, "")
	return m.err
}

func furnishRun(m *mounts, s Spec, run string) {
	for _, dir := range []string{"lock", "lab/bin", "lab/programs", "lab/logs", "containerd", "cgroups"} {
		m.mkdir(filepath.Join(run, dir))
	}
	m.bind(s.LogDir, filepath.Join(run, "lab/logs"))
	for name, path := range s.Programs {
		// A program is named by what lies at the end of all links, which may be
		// below a directory that the node does not see.
		m.do("find the program "+name, func() error {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return err
			}
			target := filepath.Join(run, "lab/programs", name)
			if err := os.WriteFile(target, nil, 0o755); err != nil {
				return err
			}
			if err := unix.Mount(real, target, "", unix.MS_BIND, ""); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(binTargets, name), filepath.Join(run, "lab/bin", name))
		})
	}
}

// keepCgroups shows the control groups at a place that survives the new sysfs.
func keepCgroups(m *mounts, target string) {
	m.mount("/sys/fs/cgroup", target, "", unix.MS_BIND|unix.MS_REC, "")
}
