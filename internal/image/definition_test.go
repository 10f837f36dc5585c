package image

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const repositoryRoot = "../.."

// definitions reads the image.yaml of every image.
func definitions(t *testing.T) map[string]Definition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repositoryRoot, "images", "*", "image.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no image definitions: %v", err)
	}
	all := map[string]Definition{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseDefinition(data)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(filepath.Dir(f))] = d
	}
	return all
}

func TestEveryImageDefinitionNamesProgramsThatExist(t *testing.T) {
	tools, err := filepath.Glob(filepath.Join(repositoryRoot, "e2e", "components", "*", "tools.go"))
	if err != nil {
		t.Fatal(err)
	}
	var imports strings.Builder
	for _, f := range tools {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		imports.Write(data)
	}
	for directory, d := range definitions(t) {
		if d.Name != directory {
			t.Errorf("images/%s is the image %s", directory, d.Name)
		}
		for _, f := range d.Files {
			if f.Local != "" {
				if _, err := os.Stat(filepath.Join(repositoryRoot, "images", directory, f.Local)); err != nil {
					t.Errorf("images/%s: %v", directory, err)
				}
				continue
			}
			if f.Program != "" {
				if _, err := os.Stat(filepath.Join(repositoryRoot, "cmd", f.Program)); err != nil {
					t.Errorf("images/%s: %v", directory, err)
				}
				continue
			}
			// The server of etcd is named for its module.
			pattern := fmt.Sprintf(`/%s("|/v\d+")|/etcd/server/v\d+"`, regexp.QuoteMeta(f.Component))
			if f.Component != "etcd" {
				pattern = fmt.Sprintf(`/%s("|/v\d+")`, regexp.QuoteMeta(f.Component))
			}
			if !regexp.MustCompile(pattern).MatchString(imports.String()) {
				t.Errorf("images/%s: no component %s is pinned below e2e/components", directory, f.Component)
			}
		}
	}
}

func TestDockerfilesMakeTheSameImages(t *testing.T) {
	copied := regexp.MustCompile(`(?m)^COPY --from=build /out/(\S+) (\S+)$`)
	installed := regexp.MustCompile(`apt-get install -y --no-install-recommends ([a-z0-9 .+-]+)`)
	for directory, d := range definitions(t) {
		data, err := os.ReadFile(filepath.Join(repositoryRoot, "images", directory, "Dockerfile"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		got := Definition{Name: d.Name}
		if m := regexp.MustCompile(`(?m)^FROM localhost/cno/([a-z-]+):\$\{VERSION\}$`).FindStringSubmatch(text); m != nil {
			got.Base = m[1]
		}
		for _, m := range copied.FindAllStringSubmatch(text, -1) {
			f := DefinedFile{Component: m[1], Path: m[2]}
			if strings.Contains(text, "build-go.sh "+m[1]+"\n") {
				f = DefinedFile{Program: m[1], Path: m[2]}
			}
			got.Files = append(got.Files, f)
		}
		for _, m := range regexp.MustCompile(`(?m)^COPY --chmod=(0\d+) images/`+directory+`/(\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
			mode, err := strconv.ParseUint(m[1], 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			got.Files = append(got.Files, DefinedFile{Local: m[2], Path: m[3], Mode: fs.FileMode(mode)})
		}
		if m := installed.FindStringSubmatch(text); m != nil {
			got.Packages = strings.Fields(m[1])
			slices.Sort(got.Packages)
		}
		if m := regexp.MustCompile(`(?m)^USER (\S+)$`).FindStringSubmatch(text); m != nil {
			got.User = m[1]
		}
		if m := regexp.MustCompile(`(?m)^ENTRYPOINT \["(\S+)"\]$`).FindStringSubmatch(text); m != nil {
			got.Entrypoint = []string{m[1]}
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("images/%s: image.yaml (-) and Dockerfile (+) differ:\n%s", directory, diff)
		}
	}
}

func TestDefinitionsAreChecked(t *testing.T) {
	for yaml, want := range map[string]string{
		"name: x\nfils: []":                                          `unknown field "fils"`,
		"files: [{program: x, path: /x}]":                            "name is missing",
		"name: x\nfiles: [{path: /x}]":                               "files[0]: exactly one of",
		"name: x\nfiles: [{program: x, component: y, path: /x}]":     "files[0]: exactly one of",
		"name: x\nfiles: [{program: x, path: x}]":                    `files[0].path: "x" is not absolute`,
		"name: x\nfiles: [{program: x, path: x}, {path: usr/bin/y}]": "files[1].path",
	} {
		if _, err := ParseDefinition([]byte(yaml)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", yaml, err, want)
		}
	}
}

func TestDefinitionFindsBuiltPrograms(t *testing.T) {
	d := Definition{Name: "x", Packages: []string{"p"}, User: "1", Base: "y",
		Files: []DefinedFile{{Program: "a", Path: "/a"}, {Component: "b", Path: "/b"}, {Local: "c", Path: "/c", Mode: 0o644}}}
	if _, err := d.On(Definition{Name: "z"}); err == nil {
		t.Error("another image is taken for the base")
	}
	d, err := d.On(Definition{Name: "y", Packages: []string{"q"}, User: "2", Files: []DefinedFile{{Program: "d", Path: "/d"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Reference: "localhost/cno/x:v1", DebianPackages: []string{"q", "p"}, User: "1",
		Files: []File{
			{Source: "/programs/d", Path: "/d", Mode: 0o755}, {Source: "/programs/a", Path: "/a", Mode: 0o755},
			{Source: "/components/b", Path: "/b", Mode: 0o755}, {Source: "/images/x/c", Path: "/c", Mode: 0o644},
		},
	}
	if diff := cmp.Diff(want, d.Spec(Inputs{Programs: "/programs", Components: "/components", Images: "/images", Version: "v1"})); diff != "" {
		t.Error(diff)
	}
}
