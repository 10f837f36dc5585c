package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// apt resolves and downloads packages with apt-get, for a system on which nothing is installed.
type apt struct {
	dir      string // directory of state and downloads
	arch     string // as Debian names it, which for the architectures of images is as Go does
	progress func(format string, args ...any)
}

// apt is the apt-get for an architecture. Another one than that of this machine has lists of its own.
func (b Builder) apt(arch string) apt {
	dir := filepath.Join(b.Cache, "apt")
	if arch != runtime.GOARCH {
		dir = filepath.Join(b.Cache, "apt-"+arch)
	}
	return apt{dir: dir, arch: arch, progress: b.progress}
}

// notInstalled returns packages that only maintainer scripts need, except those that an image names. No script ever runs, so that apt-get
// treats them as installed.
func notInstalled(named []string) []string {
	return slices.DeleteFunc([]string{
		"adduser", "base-passwd", "debconf", "debianutils", "dpkg", "init-system-helpers", "install-info",
		"lsb-base", "perl", "perl-base", "sensible-utils", "sysvinit-utils", "tar", "ucf",
	}, func(name string) bool { return slices.Contains(named, name) })
}

// deb is a downloaded package.
type deb struct {
	// file is name_version_architecture.deb, with a % escape for the colon of an epoch.
	file string
	size int64
}

// closure returns the packages, and all that they depend on, sorted by file name, all of them downloaded to
// directory debs. The lists of the machine are used, or if they do not serve (no lists, or lists that name
// versions that no longer exist), its own lists, which are refreshed if these do not work either.
func (a apt) closure(ctx context.Context, packages []string) ([]deb, error) {
	unlock, err := a.prepare(packages)
	if err != nil {
		return nil, err
	}
	defer unlock()

	own := "Dir::State::Lists=" + filepath.Join(a.dir, "lists")
	debs, err := a.fetch(ctx, packages)
	if err == nil {
		return debs, nil
	}
	if debs, err = a.fetch(ctx, packages, "-o", own); err == nil {
		return debs, nil
	}
	a.progress("refreshing the Debian package lists")
	if _, err := a.run(ctx, "-o", own, "update"); err != nil {
		return nil, err
	}
	return a.fetch(ctx, packages, "-o", own)
}

// debs is the directory of downloaded packages.
func (a apt) debs() string { return filepath.Join(filepath.Dir(a.dir), "debs") }

// prepare makes the directories and files that apt-get wants to install packages, and keeps other processes out until it is undone.
func (a apt) prepare(packages []string) (unlock func(), err error) {
	for _, dir := range []string{a.debs() + "/partial", a.dir + "/none/partial", a.dir + "/lists/partial"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	var status strings.Builder
	for _, name := range notInstalled(packages) {
		fmt.Fprintf(&status, "Package: %s\nStatus: install ok installed\nVersion: 999:1\nArchitecture: all\nMulti-Arch: foreign\n"+
			"Maintainer: none\nDescription: not installed\n", name)
		if name == "debconf" {
			status.WriteString("Provides: debconf-2.0\n")
		}
		status.WriteString("\n")
	}
	lock, err := os.OpenFile(filepath.Join(a.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() { _ = lock.Close() }, os.WriteFile(filepath.Join(a.dir, "status"), []byte(status.String()), 0o644)
}

// fetch resolves the closure, and downloads what is missing.
func (a apt) fetch(ctx context.Context, packages []string, options ...string) ([]deb, error) {
	// Only what is not among the downloads is printed, hence the empty directory.
	resolve := []string{"-o", "Dir::Cache::archives=" + filepath.Join(a.dir, "none"), "--print-uris", "install"}
	uris, err := a.run(ctx, slices.Concat(options, resolve, packages)...)
	if err != nil {
		return nil, err
	}
	debs, err := parseURIs(uris)
	if err != nil {
		return nil, err
	}
	missing := 0
	for _, d := range debs {
		if info, err := os.Stat(filepath.Join(a.debs(), d.file)); err != nil || info.Size() != d.size {
			missing++
		}
	}
	if missing == 0 {
		return debs, nil
	}
	a.progress("downloading %d Debian packages", missing)
	_, err = a.run(ctx, slices.Concat(options, []string{"--download-only", "install"}, packages)...)
	return debs, err
}

// run runs apt-get, which downloads only what is signed by the keys of the machine.
func (a apt) run(ctx context.Context, args ...string) ([]byte, error) {
	options := []string{
		"-qq", "-y",
		"-o", "APT::Architecture=" + a.arch,
		"-o", "APT::Architectures=" + a.arch,
		"-o", "Dir::State::status=" + filepath.Join(a.dir, "status"),
		"-o", "Dir::Cache=" + a.dir,
		"-o", "Dir::Cache::archives=" + a.debs(),
		"-o", "APT::Install-Recommends=0",
		"-o", "Acquire::Languages=none",
		"-o", "Debug::NoLocking=1", // the lock of prepare is held
	}
	if os.Geteuid() == 0 {
		options = append(options, "-o", "APT::Sandbox::User=root") // the directories are not those of the user _apt
	}
	cmd := exec.CommandContext(ctx, "apt-get", append(options, args...)...)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// parseURIs reads lines of the form: 'URI' file size hash.
func parseURIs(out []byte) ([]deb, error) {
	var debs []deb
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.HasPrefix(fields[0], "'") {
			continue
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the size of %s: %w", fields[1], err)
		}
		debs = append(debs, deb{file: fields[1], size: size})
	}
	if len(debs) == 0 {
		return nil, errors.New("apt-get names no package to install")
	}
	slices.SortFunc(debs, func(a, b deb) int { return strings.Compare(a.file, b.file) })
	return debs, nil
}
