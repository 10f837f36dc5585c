package image

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Definition is the content of an image.yaml: an image in terms of the programs that it contains.
type Definition struct {
	// Name is the last part of the image's name.
	Name string `json:"name"`
	// Base is the name of an image whose packages and files this one has, too. That image has no base.
	Base string `json:"base,omitempty"`
	// Packages are Debian packages.
	Packages []string `json:"packages,omitempty"`
	// Files are programs, and files that lie beside the definition.
	Files []DefinedFile `json:"files,omitempty"`
	// Entrypoint, Cmd, Env, User and WorkingDir are those of Spec.
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`
	User       string   `json:"user,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
}

// DefinedFile is a file in an image. Exactly one of Program, Component and Local is set.
type DefinedFile struct {
	// Program is a program of this module, a directory of cmd/.
	Program string `json:"program,omitempty"`
	// Component is a program that is built from another module, such as etcd.
	Component string `json:"component,omitempty"`
	// Local is a file in the directory of the definition.
	Local string `json:"local,omitempty"`
	// Path is where the program is in the image; absolute.
	Path string `json:"path"`
	// Mode are the permissions; 0 is 0755, as programs have.
	Mode fs.FileMode `json:"mode,omitempty"`
}

// Inputs is where the files of a definition are on this machine, and the version to tag the image with.
type Inputs struct {
	Programs, Components string
	// Images is the directory of the definitions.
	Images  string
	Version string
	// Arch is the architecture of the programs, as in GOARCH. Empty is that of this machine.
	Arch string
}

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
		if set := slices.DeleteFunc([]string{f.Program, f.Component, f.Local}, func(s string) bool { return s == "" }); len(set) != 1 {
			errs = append(errs, fmt.Errorf("files[%d]: exactly one of program, component and local must be set", i))
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

// On returns the definition with what the base has. Entrypoint, user and the like are not taken from the base.
func (d Definition) On(base Definition) (Definition, error) {
	if base.Base != "" || base.Name != d.Base {
		return Definition{}, fmt.Errorf("image %s is based on %q: image %s, based on %q, is not usable as that", d.Name, d.Base, base.Name, base.Base)
	}
	d.Base = ""
	d.Packages = slices.Concat(base.Packages, d.Packages)
	d.Files = slices.Concat(base.Files, d.Files)
	return d, nil
}

// Spec is the image to build. The definition has no base.
func (d Definition) Spec(in Inputs) Spec {
	spec := Spec{
		Reference: Reference(d.Name, in.Version), DebianPackages: d.Packages, Arch: in.Arch,
		Entrypoint: d.Entrypoint, Cmd: d.Cmd, Env: d.Env, User: d.User, WorkingDir: d.WorkingDir,
	}
	for _, f := range d.Files {
		source := filepath.Join(in.Programs, f.Program)
		switch {
		case f.Component != "":
			source = filepath.Join(in.Components, f.Component)
		case f.Local != "":
			source = filepath.Join(in.Images, d.Name, f.Local)
		}
		spec.Files = append(spec.Files, File{Source: source, Path: f.Path, Mode: cmp.Or(f.Mode, 0o755)})
	}
	return spec
}

// Definition reads the definition of an image, with what its base has.
func (in Inputs) Definition(name string) (Definition, error) {
	definition, err := in.read(name)
	if err != nil || definition.Base == "" {
		return definition, err
	}
	base, err := in.read(definition.Base)
	if err != nil {
		return definition, err
	}
	return definition.On(base)
}

func (in Inputs) read(name string) (Definition, error) {
	data, err := os.ReadFile(filepath.Join(in.Images, name, "image.yaml"))
	if err != nil {
		return Definition{}, err
	}
	definition, err := ParseDefinition(data)
	if err != nil {
		return definition, fmt.Errorf("%s: %w", name, err)
	}
	return definition, nil
}
