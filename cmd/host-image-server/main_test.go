package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

func TestPageDocumentsEveryFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/programs/host-image-server.md")
	if err != nil {
		t.Fatal(err)
	}
	command().Flags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(page), "`--"+f.Name) {
			t.Errorf("--%s is not on the page", f.Name)
		}
	})
}

func TestInvalidArgumentsAreRefusedBeforeServing(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"token": strings.Repeat("0", 32) + "\n", "short": "0", "image": "x", "base.ign": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := map[string]string{"--hosts": dir, "--token-file": dir + "/token", "--url": "http://192.0.2.1:8080", "--initramfs": dir + "/image", "--listen": "127.0.0.1:0"}
	for _, c := range []struct{ why, flag, value, want string }{
		{"a URL without a scheme", "--url", "192.0.2.1:8080", "is not of the form"},
		{"a URL of a file", "--url", "file:///x", "is not of the form"},
		{"a token that can be guessed", "--token-file", dir + "/short", "it must have 32"},
		{"a missing token", "--token-file", dir + "/none", "read token"},
		{"a missing base image", "--initramfs", dir + "/none", "no such file"},
		{"a base configuration that is none", "--base", dir + "/base.ign", "not an Ignition configuration"},
		{"a certificate without its key", "--tls-cert", dir + "/image", "tls-key"},
		{"a busy loop", "--interval", "1ms", "less than a second"},
		{"a missing directory", "--hosts", dir + "/none", "read directory of documents"},
		{"an address that is none", "--listen", "x:y:z", "listen"},
		{"PreprovisioningImages whose URLs end with the program", "--preprovisioning-namespace", "metal3", "needs --url-key-file"},
		{"hosts without a token for their list", "--token-file", "", "--hosts needs --token-file"},
	} {
		var args []string
		for flag, value := range good {
			if flag != c.flag {
				args = append(args, flag, value)
			}
		}
		cmd := command()
		cmd.SetArgs(append(args, c.flag, c.value))
		cmd.SetOut(io.Discard)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
	// With valid arguments it starts, and exits on request.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := command()
	var args []string
	for flag, value := range good {
		args = append(args, flag, value)
	}
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Error(err)
	}
}

func TestMetal3ArgumentsAreChecked(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"key": strings.Repeat("0", 32) + "\n", "short": "0", "image": "x", "kubeconfig": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := []string{"--url", "http://192.0.2.1:8080", "--initramfs", dir + "/image", "--listen", "127.0.0.1:0", "--kubeconfig", dir + "/kubeconfig"}
	for _, c := range []struct {
		why  string
		args []string
		want string
	}{
		{"neither a directory nor a namespace", nil, "hosts preprovisioning-namespace"},
		{"a namespace that is none", []string{"--preprovisioning-namespace", "a/b"}, "is not a namespace"},
		{"no lease", []string{"--preprovisioning-namespace", "a", "--url-key-file", dir + "/key"}, "needs --lease-namespace"},
		{"a key that can be guessed", []string{"--preprovisioning-namespace", "a", "--lease-namespace", "a", "--url-key-file", dir + "/short"}, "it must have 32"},
		{"a missing key", []string{"--preprovisioning-namespace", "a", "--lease-namespace", "a", "--url-key-file", dir + "/none"}, "read key of URLs"},
		{"a kubeconfig that is none", []string{"--preprovisioning-namespace", "a", "--lease-namespace", "a", "--url-key-file", dir + "/key"}, "find API server"},
	} {
		cmd := command()
		cmd.SetArgs(append(slices.Clone(good), c.args...))
		cmd.SetOut(io.Discard)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}

func TestArchitectureHasTheNameOfMetal3(t *testing.T) {
	for of, want := range map[string]string{"amd64": "x86_64", "arm64": "aarch64", "s390x": "s390x"} {
		if got := architecture(of); got != want {
			t.Errorf("%s is %s", of, got)
		}
	}
}

func TestManifestsUseValidArguments(t *testing.T) {
	content, err := os.ReadFile("../../config/host-image-server/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(content, d); err != nil {
		t.Fatal(err)
	}
	cmd := command()
	args := d.Spec.Template.Spec.Containers[0].Args
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
		t.Error(err)
	}
	mounted := map[string]bool{}
	for _, m := range d.Spec.Template.Spec.Containers[0].VolumeMounts {
		mounted[m.MountPath] = m.ReadOnly
	}
	for _, a := range args {
		if _, file, _ := strings.Cut(a, "="); strings.HasPrefix(file, "/") && !mounted[filepath.Dir(file)] {
			t.Errorf("%s is not mounted", a)
		}
	}
	roles, err := os.ReadFile("../../config/host-image-server/images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(args, "--preprovisioning-namespace=metal3") || strings.Count(string(roles), "\n  namespace: metal3\n") != 2 {
		t.Error("the permissions are those of another namespace than that of the flag")
	}
}

func TestDocumentedBaseConfigurationIsValid(t *testing.T) {
	page, err := os.ReadFile("../../docs/programs/host-image-server.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, block := range strings.Split(string(page), "```json\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(block, `"ignition"`) {
			continue
		}
		found++
		file := filepath.Join(t.TempDir(), "base.ign")
		if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readBase(file); err != nil {
			t.Error(err)
		}
	}
	if found != 1 {
		t.Errorf("the page has %d base configurations", found)
	}
}
