package spdx

import (
	"bytes"
	"encoding/json"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

func document() *Document {
	sum := strings.Repeat("a", 64)
	d := New(Image("flannel", "v1.0.0", "sha256:"+sum), "https://example.com/flannel", time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)))
	build := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.com/main", Version: "(devel)"}, Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v1.2.3"}, {Path: "example.com/b", Version: "v0.1.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v0.1.1"}},
	}}
	d.AddProgram(d.Subject(), Program("flanneld", "v1.0.0", sum), build)
	d.AddProgram(d.Subject(), Program("cno-cni", "v1.0.0", strings.Repeat("b", 64)), build)
	for _, arch := range []string{"amd64", "arm64"} {
		d.Add(d.Subject(), Debian("iptables", "1:1.8+deb12~u1", arch, "bookworm", strings.Repeat(map[string]string{"amd64": "c", "arm64": "d"}[arch], 64)))
	}
	return d
}

func TestADocumentIsComplete(t *testing.T) {
	d := document()
	if d.CreationInfo.Created != "2026-01-02T02:04:05Z" {
		t.Errorf("created %s", d.CreationInfo.Created)
	}
	ids := map[string]bool{documentID: true}
	for _, p := range d.Packages {
		if ids[p.ID] || !regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`).MatchString(p.ID) {
			t.Errorf("identifier %q is used twice, or is none", p.ID)
		}
		ids[p.ID] = true
		if p.Name == "" || p.DownloadLocation == "" || p.LicenseConcluded == "" || p.LicenseDeclared == "" || p.Copyright == "" {
			t.Errorf("%s: a field that SPDX 2.3 requires is empty: %+v", p.ID, p)
		}
	}
	related := map[string]bool{}
	for _, r := range d.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("%v refers to what is not in the document", r)
		}
		related[r.Related] = true
	}
	for id := range ids {
		if id != documentID && !related[id] {
			t.Errorf("%s belongs to nothing", id)
		}
	}
}

func TestLinkedModulesAreListedOnce(t *testing.T) {
	var locators []string
	for _, p := range document().Packages {
		for _, r := range p.ExternalRefs {
			locators = append(locators, r.Locator)
		}
	}
	for _, want := range []string{
		"pkg:golang/stdlib@1.26.8", "pkg:golang/example.com/a@v1.2.3", "pkg:golang/example.com/fork@v0.1.1",
		"pkg:deb/debian/iptables@1%3A1.8%2Bdeb12~u1?arch=amd64&distro=bookworm", "pkg:deb/debian/iptables@1%3A1.8%2Bdeb12~u1?arch=arm64&distro=bookworm",
	} {
		if n := len(slices.DeleteFunc(slices.Clone(locators), func(l string) bool { return l != want })); n != 1 {
			t.Errorf("%s appears %d times in %q", want, n, locators)
		}
	}
	if slices.ContainsFunc(locators, func(l string) bool { return strings.Contains(l, "example.com/b@") }) {
		t.Error("a module that another one replaces is named")
	}
}

func TestTheSameInputsGiveTheSameDocument(t *testing.T) {
	first, err := document().JSON()
	if err != nil {
		t.Fatal(err)
	}
	second, err := document().JSON()
	if err != nil || !bytes.Equal(first, second) || !json.Valid(first) {
		t.Errorf("the documents differ, or are no JSON: %v", err)
	}
}
