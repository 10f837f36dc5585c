package component

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEnsureBuildsWhatIsMissingAndLinksAll(t *testing.T) {
	b := newBuilder(t)
	bin := t.TempDir()
	var out strings.Builder
	clock := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	report := Report{Out: &out, Now: func() time.Time {
		clock = clock.Add(36 * time.Second)
		return clock
	}}
	if err := b.Ensure(t.Context(), []Component{hello}, bin, report); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("[1/1] hello v1 ... 36s\n", out.String()); diff != "" {
		t.Error(diff)
	}
	output, err := exec.Command(filepath.Join(bin, "hello")).Output()
	if err != nil || string(output) != "built-for-a-test\n" {
		t.Errorf("it prints %q, %v: the variable was not set", output, err)
	}

	out.Reset()
	if err := os.Remove(filepath.Join(bin, "hello")); err != nil {
		t.Fatal(err)
	}
	if err := b.Ensure(t.Context(), []Component{hello}, bin, report); err != nil {
		t.Fatal(err)
	}
	if out.Len() != 0 {
		t.Errorf("the second time it prints %q", out.String())
	}
	if _, err := os.Stat(filepath.Join(bin, "hello")); err != nil {
		t.Errorf("what was built already is not linked: %v", err)
	}
}

func TestConcurrentBuildsShareOneResult(t *testing.T) {
	b := newBuilder(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := b.Build(t.Context(), hello); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	built, err := filepath.Glob(filepath.Join(b.Cache, "bin", "*"))
	if err != nil || len(built) != 1 {
		t.Errorf("the cache holds %v, %v", built, err)
	}
}

func TestFailedBuildReportsTheCompilerErrorAndLeavesNothing(t *testing.T) {
	b := newBuilder(t)
	source := filepath.Join(b.Modules, "hello", "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { nonsense() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := b.Build(t.Context(), hello)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(b.Cache, "bin")); len(left) != 0 {
		t.Errorf("the cache holds %v", left)
	}
}

func TestBuildIsNamedByItsInputs(t *testing.T) {
	b := newBuilder(t)
	first, err := b.Path(hello)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := b.Path(hello); again != first {
		t.Errorf("the same is named %s and %s", first, again)
	}
	flags := hello
	flags.Vars = map[string]string{"main.text": "another"}
	if other, _ := b.Path(flags); other == first {
		t.Error("another variable makes no other name")
	}
	if err := os.WriteFile(filepath.Join(b.Modules, "hello", "go.sum"), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if other, _ := b.Path(hello); other == first {
		t.Error("another sum file makes no other name")
	}
}

func TestSelect(t *testing.T) {
	tests := map[string]struct {
		names, want []string
		fails       string
	}{
		"in the order asked for": {names: []string{"kubectl", "etcd"}, want: []string{"kubectl", "etcd"}},
		"a group stands for its own": {names: []string{"cni-plugins"}, want: []string{
			"host-local", "static", "bridge", "dummy", "host-device", "ipvlan", "loopback", "macvlan", "ptp", "tap", "vlan",
			"bandwidth", "firewall", "portmap", "sbr", "tuning", "vrf",
		}},
		"what only some need":         {names: []string{"e2e.test"}, want: []string{"e2e.test"}},
		"every mistake is named once": {names: []string{"kubctl", "etcd", "ectd"}, fails: "unknown components kubctl, ectd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			list, err := Select(tt.names)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v", err)
				}
				return
			}
			var got []string
			for _, c := range list {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func TestEveryComponentHasABuildModuleThatPinsIt(t *testing.T) {
	all := append(append(Catalogue(), Conformance()...), Helm())
	for _, c := range all {
		dir := filepath.Join("..", "..", "components", c.Module)
		if c.Package == "." {
			continue
		}
		tools, err := os.ReadFile(filepath.Join(dir, "tools.go"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(tools), `"`+c.Package+`"`) {
			t.Errorf("%s: its build module does not keep %s", c.Name, c.Package)
		}
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(mod), " "+c.Version+"\n") {
			t.Errorf("%s: its build module does not require %s of anything", c.Name, c.Version)
		}
	}
}

// hello is a component that needs nothing but the standard library.
var hello = Component{
	Name: "hello", Version: "v1", Module: "hello", Package: ".", Vars: map[string]string{"main.text": "built-for-a-test"},
}

func newBuilder(t *testing.T) Builder {
	t.Helper()
	modules := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/hello\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"fmt\"\n\nvar text string\n\nfunc main() { fmt.Println(text) }\n",
	} {
		path := filepath.Join(modules, "hello", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Builder{Modules: modules, Cache: t.TempDir()}
}

func TestEachArchitectureIsBuiltSeparately(t *testing.T) {
	b := newBuilder(t)
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		b.Arch = arch
		path, err := b.Build(t.Context(), hello)
		if err != nil {
			t.Fatal(err)
		}
		file, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if file.Machine != machine {
			t.Errorf("for %s the program is one for %s", arch, file.Machine)
		}
	}
}

// TestVersionsOfKubernetesArePinned compares the list of versions with the files that pin them.
func TestVersionsOfKubernetesArePinned(t *testing.T) {
	dir := filepath.Join("..", "..", "components", "kubernetes")
	for _, version := range KubernetesVersions() {
		list, err := Cluster(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			pins, err := os.ReadFile(filepath.Join(dir, pinsOf(c)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(pins), "\nrequire k8s.io/kubernetes "+version+"\n") {
				t.Errorf("%s of %s is built with other pins", c.Name, version)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.mod"))
	if err != nil || len(files) != len(KubernetesVersions()) {
		t.Errorf("the files of pins are %v, %v", files, err)
	}
	if _, err := Cluster("v1.20.0"); err == nil || !strings.Contains(err.Error(), KubernetesVersions()[0]) {
		t.Errorf("the error of an unknown version is %v", err)
	}
}

// TestPinsOfOtherVersionsDoNotAffectAKey: a version that is added must not cost the programs of the others another build.
func TestPinsOfOtherVersionsDoNotAffectAKey(t *testing.T) {
	b := newBuilder(t)
	before, err := b.key(hello)
	if err != nil {
		t.Fatal(err)
	}
	other := hello
	other.ModFile = "v1.35.mod"
	for _, name := range []string{"v1.35.mod", "v1.35.sum"} {
		if err := os.WriteFile(filepath.Join(b.Modules, "hello", name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := b.key(hello); err != nil || after != before {
		t.Errorf("the key is %s and was %s, %v", after, before, err)
	}
	if key, err := b.key(other); err != nil || key == before {
		t.Errorf("the key of another version is %s, %v", key, err)
	}
}

func TestTheInstallationPageHasEveryVersion(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^\| (v1\.\S+) \|`).FindAllSubmatch(page, -1) {
		listed = append(listed, string(row[1]))
	}
	if diff := cmp.Diff(KubernetesVersions(), listed); diff != "" {
		t.Error(diff)
	}
}
