package apitest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// assetsVariable is the environment variable that names the directory of the programs. It is read here, and not
// in a main function, because tests have none.
const assetsVariable = "CNO_TEST_ASSETS"

// assets are the paths of the programs that a server is made of.
type assets struct{ apiserver, etcd string }

// findAssets looks for the programs. The error has the directories that were searched, and the way out.
func findAssets() (assets, error) {
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		root, err := RepositoryRoot()
		if err != nil {
			return assets{}, err
		}
		dir = filepath.Join(root, "_output", "lab", "bin")
	}
	found := assets{apiserver: filepath.Join(dir, "kube-apiserver"), etcd: filepath.Join(dir, "etcd")}
	for _, path := range []string{found.apiserver, found.etcd} {
		if _, err := os.Stat(path); err != nil {
			return assets{}, fmt.Errorf("find %s: %w; make test builds it, or set %s to a directory that contains it",
				filepath.Base(path), err, assetsVariable)
		}
	}
	return found, nil
}

// RepositoryRoot returns the directory of go.mod above the working directory, which for a test is that of its
// package. Tests use it to reach files that are not Go's: docs, samples, built programs.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find repository: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", fmt.Errorf("find repository: no go.mod above the working directory: %w", err)
		}
		dir = parent
	}
}

// dieWithParent writes a program that runs another one so that the kernel kills it when the process that
// started it dies, and returns its path. Without it a test binary that panics or is killed would leave its
// servers running.
func dieWithParent(dir, program string) (string, error) {
	path := filepath.Join(dir, "run-"+filepath.Base(program))
	quoted := "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
	script := "#!/bin/sh\nexec setpriv --pdeathsig KILL -- " + quoted + ` "$@"` + "\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		return "", fmt.Errorf("write launcher: %w", err)
	}
	return path, nil
}

// ReadCRDs returns the definitions in the YAML files of a directory, a path in the checkout, for Options.CRDs. It panics if there are none:
// it is called by TestMain.
func ReadCRDs(dir string) []*apiextensionsv1.CustomResourceDefinition {
	root, err := RepositoryRoot()
	if err != nil {
		panic(err)
	}
	files, err := filepath.Glob(filepath.Join(root, dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		panic("no CustomResourceDefinitions in " + dir)
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, d); err != nil {
			panic(fmt.Sprintf("%s: %v", file, err))
		}
		definitions = append(definitions, d)
	}
	return definitions
}
