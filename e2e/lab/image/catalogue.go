// Package image builds the lab's own container images, with the names that
// Kubernetes and its conformance tests use, and stores them in the cache.
package image

import (
	"io/fs"
	"path/filepath"

	imagebuild "github.com/cluster-network-operator/cno/internal/image"

	"github.com/cluster-network-operator/cno/e2e/lab/config"
)

// Image is one image of the catalogue.
type Image struct {
	// Name is the short name for messages and file names.
	Name string
	Spec imagebuild.Spec
}

// Sources are the directories of the contents of images.
type Sources struct {
	// Bin contains the built programs, Agnhost agnhost's source.
	Bin, Agnhost string
}

// Default returns the images that every node gets.
func Default(s Sources) []Image {
	return []Image{
		{Name: "pause", Spec: imagebuild.Spec{
			Reference:  config.PauseImage,
			Files:      []imagebuild.File{s.program("pause", "/pause")},
			Entrypoint: []string{"/pause"},
			User:       "65535:65535",
		}},
		{Name: "coredns", Spec: imagebuild.Spec{
			Reference:  "registry.k8s.io/coredns/coredns:v1.15.0",
			Files:      []imagebuild.File{s.program("coredns", "/coredns")},
			Entrypoint: []string{"/coredns"},
			WorkingDir: "/",
		}},
		{Name: "agnhost", Spec: imagebuild.Spec{
			Reference: e2eImage("agnhost:2.63.0"),
			Files: []imagebuild.File{
				s.program("agnhost", "/agnhost"),
				// Tests of entrypoints run it by this name.
				{Path: "/agnhost-2", Link: "agnhost"},
				// Tests of a pod's own name server run it.
				s.program("coredns", "/coredns"),
				{Path: "/uploads", Dir: true},
				{Source: filepath.Join(s.Agnhost, "porter/localhost.crt"), Path: "/localhost.crt", Mode: readable},
				{Source: filepath.Join(s.Agnhost, "porter/localhost.key"), Path: "/localhost.key", Mode: readable},
				{Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky},
			},
			DebianPackages: []string{
				"bash", "bind9-dnsutils", "ca-certificates", "coreutils", "curl", "dash", "grep", "iperf", "iproute2",
				"hostname", "iptables", "iputils-ping", "iputils-tracepath", "libc-bin", "netcat-openbsd", "procps", "sed", "tcpdump",
				"util-linux", "wget",
			},
			Entrypoint: []string{"/agnhost"},
			Cmd:        []string{"pause"},
		}},
	}
}

// Conformance returns the images that Kubernetes' network tests use in addition to
// the default ones.
func Conformance(s Sources) []Image {
	busybox := imagebuild.Spec{
		Reference:      e2eImage("busybox:1.37.0-1"),
		DebianPackages: []string{"busybox-static"},
		Files:          []imagebuild.File{{Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky}},
		Cmd:            []string{"sh"},
	}
	for _, applet := range applets() {
		busybox.Files = append(busybox.Files, imagebuild.File{Path: "/bin/" + applet, Link: "busybox"})
	}
	return []Image{
		{Name: "busybox", Spec: busybox},
		{Name: "glibc-dns-testing", Spec: imagebuild.Spec{
			Reference:      e2eImage("glibc-dns-testing:2.0.0"),
			DebianPackages: []string{"bash", "bind9-dnsutils", "coreutils", "curl", "dash", "grep", "libc-bin", "netcat-openbsd", "sed"},
			Cmd:            []string{"bash"},
		}},
		// The server that injects segments which connection tracking must drop.
		{Name: "regression-issue-74839", Spec: imagebuild.Spec{
			Reference:  e2eImage("regression-issue-74839:1.4"),
			Files:      []imagebuild.File{s.program("regression-issue-74839", "/regression-issue-74839")},
			Entrypoint: []string{"/regression-issue-74839"},
		}},
		// Pods of EndpointSlice tests run it, and none of them requests a page.
		{Name: "nginx", Spec: imagebuild.Spec{
			Reference:      e2eImage("nginx:1.15-4"),
			DebianPackages: []string{"nginx-light"},
			Files:          []imagebuild.File{{Path: "/run", Dir: true}, {Path: "/var/log/nginx", Dir: true}, {Path: "/var/lib/nginx", Dir: true}, {Path: "/tmp", Dir: true, Mode: 0o777 | fs.ModeSticky}},
			Cmd:            []string{"nginx", "-g", "daemon off;"},
		}},
		// Tests use its shell and conntrack to read a node's connection tracking table.
		{Name: "distroless-iptables", Spec: imagebuild.Spec{
			Reference:      "registry.k8s.io/build-image/distroless-iptables:v0.9.6",
			DebianPackages: []string{"bash", "conntrack", "coreutils", "dash", "debianutils", "grep", "iptables", "nftables"},
			Cmd:            []string{"sh"},
		}},
	}
}

const readable = 0o644

func (s Sources) program(name, path string) imagebuild.File {
	return imagebuild.File{Source: filepath.Join(s.Bin, name), Path: path, Mode: 0o755}
}

func e2eImage(name string) string { return "registry.k8s.io/e2e-test-images/" + name }

// applets are the commands of busybox that tests use.
func applets() []string {
	return []string{
		"[", "ash", "awk", "basename", "cat", "chmod", "cp", "cut", "date", "dd", "df", "dirname", "echo", "env", "expr",
		"false", "find", "grep", "head", "hostname", "httpd", "id", "ifconfig", "ip", "kill", "ln", "ls", "mkdir", "mktemp",
		"mv", "nc", "netstat", "nslookup", "ping", "ping6", "printf", "ps", "pwd", "rm", "route", "sed", "seq", "sh",
		"sleep", "sort", "stat", "tail", "tee", "test", "timeout", "top", "touch", "tr", "true", "uname", "uniq", "wc",
		"wget", "which", "whoami", "xargs", "yes",
	}
}
