// Package crds holds the CustomResourceDefinitions of the kinds that this project owns, as controller-gen
// writes them from the Go types beside it (hack/generate.sh).
package crds

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.openshift.io_*.yaml
var files embed.FS

//go:embed openshiftsdn/*.openshift.io_*.yaml
var openshiftsdn embed.FS

// Files returns the files of the operator's own definitions, one each, named <group>_<plural>.yaml.
func Files() fs.FS { return files }

// All returns every definition of the operator, in the order of the file names. Each call returns new values, which the
// caller may change. The error can only be that of a file that was written by hand.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) { return decode(files, ".") }

// OpenShiftSDN returns the definitions of the network OpenShiftSDN, as All. They are installed with that network.
func OpenShiftSDN() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return decode(openshiftsdn, "openshiftsdn")
}

func decode(files embed.FS, directory string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := files.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("list embedded definitions: %w", err)
	}
	all := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(entries))
	for _, entry := range entries {
		content, err := files.ReadFile(path.Join(directory, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read embedded definition: %w", err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", entry.Name(), err)
		}
		all = append(all, crd)
	}
	return all, nil
}
