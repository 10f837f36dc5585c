package image

import (
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Definition is what an image.yaml says: an image in terms of the programs that go into it.
type Definition struct {
	// Name is the last part of the image's name.
	Name string `json:"name"`
	// Packages are Debian packages.
	Packages []string `json:"packages,omitempty"`
	// Files are the programs.
	Files []DefinedFile `json:"files"`
	// Entrypoint, Cmd, Env, User and WorkingDir are those of Spec.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`
	User       string   `json:"user,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
}

// DefinedFile is a program in an image. Exactly one of Program and Component is set.
type DefinedFile struct {
	// Program is a program of this module, a directory of cmd/.
	Program string `json:"program,omitempty"`
	// Component is a program that is built from another module, such as etcd.
	Component string `json:"component,omitempty"`
	// Path is where the program is in the image; absolute.
	Path string `json:"path"`
}

// Inputs is where a definition's programs are on this machine, and the version to tag the image with.
type Inputs struct{ Programs, Components, Version string }

// ParseDefinition reads an image.yaml. Unknown fields are errors.
func ParseDefinition(data []byte) (Definition, error) {
	var d Definition
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return Definition{}, fmt.Errorf("parse image definition: %w", err)
	}
	var errs []error
	if d.Name == "" {
		errs = append(errs, errors.New("name is missing"))
	}
	for i, f := range d.Files {
		if (f.Program == "") == (f.Component == "") {
			errs = append(errs, fmt.Errorf("files[%d]: exactly one of program and component must be set", i))
		}
		if !filepath.IsAbs(f.Path) {
			errs = append(errs, fmt.Errorf("files[%d].path: %q is not absolute", i, f.Path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Definition{}, fmt.Errorf("check image definition: %w", err)
	}
	return d, nil
}

// Reference is the name that an image of this project has where there is no registry.
func Reference(name, version string) string { return "localhost/cno/" + name + ":" + version }

// Spec is the image to build.
func (d Definition) Spec(in Inputs) Spec {
	spec := Spec{
		Reference: Reference(d.Name, in.Version), DebianPackages: d.Packages,
		Entrypoint: d.Entrypoint, Cmd: d.Cmd, Env: d.Env, User: d.User, WorkingDir: d.WorkingDir,
	}
	for _, f := range d.Files {
		source := filepath.Join(in.Programs, f.Program)
		if f.Component != "" {
			source = filepath.Join(in.Components, f.Component)
		}
		spec.Files = append(spec.Files, File{Source: source, Path: f.Path, Mode: 0o755})
	}
	return spec
}
