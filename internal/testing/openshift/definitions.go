package openshift

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// module is where OpenShift's definitions come from.
const module = "github.com/openshift/api"

// thirdParty holds definitions that neither Kubernetes nor that module has. They are written for this project and
// accept everything that the real ones accept.
//
//go:embed thirdparty/*.yaml
var thirdParty embed.FS

// ModuleFiles returns the files of OpenShift's API module in the version that the Go module around a directory uses. An
// empty directory is the working directory.
func ModuleFiles(ctx context.Context, directory string) (fs.FS, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	list.Dir = directory
	out, err := list.Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("find module %s: %w", module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return nil, fmt.Errorf("find module %s: it is not in the module cache; go mod download gets it", module)
	}
	return os.DirFS(dir), nil
}

// Definitions returns CRDs by their names, <plural>.<group>, in that order: those of the
// module, in the variant of clusters without feature gates, or else those of third parties. An unknown name is an error.
// Each call returns new values, which the caller may change.
func Definitions(files fs.FS, names ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		content, err := definition(files, name)
		if err != nil {
			return nil, fmt.Errorf("find definition %s: %w", name, err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, crd); err != nil {
			return nil, fmt.Errorf("decode definition %s: %w", name, err)
		}
		found = append(found, crd)
	}
	return found, nil
}

// definition returns the file of a definition.
func definition(files fs.FS, name string) ([]byte, error) {
	content, err := thirdParty.ReadFile("thirdparty/" + name + ".yaml")
	if err == nil {
		return content, nil
	}
	plural, _, _ := strings.Cut(name, ".")
	var candidates []string
	for _, suffix := range []string{".crd.yaml", "-Default.crd.yaml"} {
		matches, err := fs.Glob(files, "*/*/zz_generated.crd-manifests/*_"+plural+suffix)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, matches...)
	}
	slices.SortStableFunc(candidates, byStability)
	for _, file := range candidates {
		content, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(content), "\n  name: "+name+"\n") {
			return content, nil
		}
	}
	return nil, fmt.Errorf("no file of %s has it: %w", module, fs.ErrNotExist)
}

// stable matches the directory of a version that is neither alpha nor beta.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// byStability sorts the files of stable versions first. A kind that is both has one definition in either directory.
func byStability(a, b string) int {
	rank := func(file string) int {
		if stable.MatchString(path.Base(path.Dir(path.Dir(file)))) {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}
