package image

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// repository is a Debian archive in a directory.
type repository struct {
	t   *testing.T
	dir string
	// index is the content of the file Packages.
	index bytes.Buffer
}

// add builds a package with files, each "path" or "path -> target".
func (r *repository) add(name, version, depends string, files ...string) {
	r.t.Helper()
	root := r.t.TempDir()
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: none <none@example.com>\nDescription: x\n", name, version)
	if depends != "" {
		control += "Depends: " + depends + "\n"
	}
	write := func(path, content string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			r.t.Fatal(err)
		}
	}
	write(filepath.Join(root, "DEBIAN", "control"), control)
	for _, f := range files {
		path, target, link := strings.Cut(f, " -> ")
		write(filepath.Join(root, path), name)
		if link {
			if err := os.Remove(filepath.Join(root, path)); err != nil {
				r.t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(root, path)); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	file := name + "_" + version + "_all.deb"
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "-b", root, filepath.Join(r.dir, file)).CombinedOutput(); err != nil {
		r.t.Fatalf("dpkg-deb: %v: %s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		r.t.Fatal(err)
	}
	fmt.Fprintf(&r.index, "%sFilename: ./%s\nSize: %d\nSHA256: %x\n\n", control, file, len(content), sha256.Sum256(content))
	if err := os.WriteFile(filepath.Join(r.dir, "Packages"), r.index.Bytes(), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// newRepository makes apt-get use a repository in place of the machine's sources.
func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir()}
	conf := t.TempDir()
	source := filepath.Join(conf, "sources.list")
	settings := fmt.Sprintf("Dir::Etc::sourcelist \"%s\";\nDir::Etc::sourceparts \"/nonexistent\";\nDir::State::Lists \"%s/lists\";\n", source, conf)
	for path, text := range map[string]string{source: "deb [trusted=yes] copy:" + r.dir + " ./\n", filepath.Join(conf, "apt.conf"): settings} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("APT_CONFIG", filepath.Join(conf, "apt.conf"))
	return r
}

func TestPackagesAddOnlyTheirDependencies(t *testing.T) {
	repo := newRepository(t)
	repo.add("iptables", "1.8", "libxtables (>= 1), debconf | debconf-2.0", "usr/sbin/iptables-nft -> xtables-nft-multi",
		"usr/sbin/iptables-nft-save -> xtables-nft-multi", "usr/sbin/xtables-nft-multi", "usr/share/man/man8/iptables.8", "etc/init.d/iptables")
	repo.add("libxtables", "1:2", "", "lib/x86_64-linux-gnu/libxtables.so.12", "usr/share/doc/libxtables/copyright")
	repo.add("bystander", "1", "", "usr/bin/bystander")

	var steps []string
	b := Builder{Cache: t.TempDir(), Progress: func(s string) { steps = append(steps, s) }}
	spec := Spec{
		Reference: "localhost/cno/x:v1", DebianPackages: []string{"iptables"},
		Files: []File{{Source: program(t, "own"), Path: "/bin/own", Mode: 0o755}},
	}
	first := build(t, b, spec)
	img, err := tarball.ImageFromPath(first, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := headers(t, img)
	for name := range got {
		if strings.HasSuffix(name, "/") {
			delete(got, name)
		}
	}
	want := map[string]string{
		"usr/sbin/iptables": "Lrwxrwxrwx -> iptables-nft", "usr/sbin/iptables-nft": "Lrwxrwxrwx -> xtables-nft-multi",
		"usr/sbin/iptables-save": "Lrwxrwxrwx -> iptables-nft-save", "usr/sbin/iptables-nft-save": "Lrwxrwxrwx -> xtables-nft-multi",
		"usr/sbin/xtables-nft-multi": "-rwxr-xr-x", "usr/lib/x86_64-linux-gnu/libxtables.so.12": "-rwxr-xr-x",
		"lib": "Lrwxrwxrwx -> usr/lib", "sbin": "Lrwxrwxrwx -> usr/sbin", "var/run": "Lrwxrwxrwx -> /run",
		"etc/passwd": "-rw-r--r--", "etc/group": "-rw-r--r--", "usr/bin/own": "-rwxr-xr-x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantSteps := []string{"refreshing the Debian package lists", "unpacking 2 Debian packages"}
	if diff := cmp.Diff(wantSteps, withoutDownloads(steps)); diff != "" {
		t.Error(diff)
	}

	// The second time nothing is refreshed, downloaded or unpacked, and the bytes are the same.
	steps = nil
	second := build(t, b, spec)
	if len(steps) != 0 {
		t.Errorf("the second build took steps %q", steps)
	}
	equalFiles(t, first, second)
	// Nor do they depend on the cache.
	equalFiles(t, first, build(t, Builder{Cache: t.TempDir()}, spec))
}

// TestPackageOfMaintainerScriptsIsInstalledIfItIsNamed: tar is left out of images whose packages only depend on it.
func TestPackageOfMaintainerScriptsIsInstalledIfItIsNamed(t *testing.T) {
	repo := newRepository(t)
	repo.add("tar", "1", "", "bin/tar")
	repo.add("tool", "1", "tar", "usr/bin/tool")
	for _, tc := range []struct {
		packages []string
		want     bool
	}{{[]string{"tool"}, false}, {[]string{"tar", "tool"}, true}} {
		img, err := tarball.ImageFromPath(build(t, Builder{Cache: t.TempDir()}, Spec{Reference: "localhost/cno/x:v1", DebianPackages: tc.packages}), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := headers(t, img); (got["usr/bin/tar"] != "") != tc.want || got["usr/bin/tool"] == "" {
			t.Errorf("packages %q: %v", tc.packages, got)
		}
	}
}

func TestNewVersionOfAPackageIsUsed(t *testing.T) {
	repo := newRepository(t)
	repo.add("tool", "1", "", "usr/bin/tool")
	b := Builder{Cache: t.TempDir()}
	spec := Spec{Reference: "localhost/cno/x:v1", DebianPackages: []string{"tool"}}
	build(t, b, spec)

	repo.index.Reset()
	repo.add("tool", "2", "", "usr/bin/tool2")
	if out, err := exec.Command("apt-get", "-o", "Dir::State::Lists="+filepath.Join(b.Cache, "apt", "lists"), "update").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	img, err := tarball.ImageFromPath(build(t, b, spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := headers(t, img); got["usr/bin/tool2"] == "" || got["usr/bin/tool"] != "" {
		t.Errorf("the old version is still there: %v", got)
	}
}

func TestAPackageThatDoesNotExistIsNamed(t *testing.T) {
	repo := newRepository(t)
	repo.add("tool", "1", "", "usr/bin/tool")
	err := Builder{Cache: t.TempDir()}.Build(t.Context(), Spec{Reference: "localhost/cno/x:v1", DebianPackages: []string{"toool"}}, filepath.Join(t.TempDir(), "x.tar"))
	if err == nil || !strings.Contains(err.Error(), "toool") {
		t.Errorf("the error does not name the package: %v", err)
	}
}

// withoutDownloads leaves out the steps about downloads, which a repository in a directory does not need.
func withoutDownloads(steps []string) []string {
	var rest []string
	for _, s := range steps {
		if !strings.HasPrefix(s, "downloading") {
			rest = append(rest, s)
		}
	}
	return rest
}

func equalFiles(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Errorf("%s and %s differ", a, b)
	}
}
