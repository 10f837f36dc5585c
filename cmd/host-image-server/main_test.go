package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestThePageOfTheProgramNamesEveryFlag(t *testing.T) {
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

func TestCallsThatMakeNoSenseAreRefusedBeforeAnythingIsServed(t *testing.T) {
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
		{"a token that is not there", "--token-file", dir + "/none", "read token"},
		{"a base image that is not there", "--initramfs", dir + "/none", "no such file"},
		{"a base configuration that is none", "--base", dir + "/base.ign", "not an Ignition configuration"},
		{"a certificate without its key", "--tls-cert", dir + "/image", "tls-key"},
		{"a busy loop", "--interval", "1ms", "less than a second"},
		{"a directory that is not there", "--hosts", dir + "/none", "read directory of documents"},
		{"an address that is none", "--listen", "x:y:z", "listen"},
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
	// All of it right starts, and ends when it is told to.
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
