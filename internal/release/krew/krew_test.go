package krew

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestManifest has the manifest as krew's documentation describes it: the newest krew in the Go module proxy does not compile with the
// modules of this project.
func TestManifest(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	content, err := Manifest("v1.2.3", "https://example.test/cno", []Platform{
		{OS: "darwin", Arch: "arm64", URI: "https://example.test/cno_v1.2.3_darwin_arm64.tar.gz", SHA256: sum, Program: "cno"},
		{OS: "windows", Arch: "amd64", URI: "https://example.test/cno_v1.2.3_windows_amd64.zip", SHA256: sum, Program: "cno.exe"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: cno
spec:
  description: |
    The administrator's tool of the Cluster Network Operator: it installs and upgrades the
    operator, previews and applies changes of the network, and reports its problems.
  homepage: https://example.test/cno
  platforms:
  - bin: cno
    selector:
      matchLabels:
        arch: arm64
        os: darwin
    sha256: ` + sum + `
    uri: https://example.test/cno_v1.2.3_darwin_arm64.tar.gz
  - bin: cno.exe
    selector:
      matchLabels:
        arch: amd64
        os: windows
    sha256: ` + sum + `
    uri: https://example.test/cno_v1.2.3_windows_amd64.zip
  shortDescription: Preview, apply and inspect a cluster's network
  version: v1.2.3
`
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Error(diff)
	}
}
