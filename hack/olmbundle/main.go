// Command olmbundle writes the OLM bundle of a version with tags for images, into a directory, without building anything: for the
// validators in e2e/olm, which require other versions of Kubernetes' modules. A release contains the same files with digests.
//
//	go run ./hack/olmbundle -version v0.2.0 DIR
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/release/olm"
)

func main() {
	version := flag.String("version", "", "version of the release, for example v0.2.0")
	flag.Parse()
	if err := run(*version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "olmbundle:", err)
		os.Exit(1)
	}
}

func run(version string, args []string) error {
	if err := release.CheckVersion(version); err != nil {
		return err
	}
	if len(args) != 1 {
		return errors.New("name one directory")
	}
	files, err := olm.Release{
		Images: release.Set{Prefix: release.DefaultPrefix, Version: version}, Created: time.Unix(0, 0), Repository: "https://github.com/cluster-network-operator/cno",
	}.Files()
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(args[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
