// Package ignition creates Ignition configurations of specification 3.2.0. It uses Ignition's types, and validates the encoded configuration with Ignition's
// validator. The output is deterministic.
//
// 3.2.0 is the oldest version that all supported boot images accept.
package ignition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/coreos/vcontext/report"
)

// File is a file that a configuration writes onto a host.
type File struct {
	// Path is absolute.
	Path string
	// Mode is the permission bits. Zero means mode 0, with which only root can read the file.
	Mode int
	// Content is the content; nil is an empty file.
	Content []byte
}

// Config returns a configuration that writes files, and overwrites existing ones.
func Config(files []File) types.Config {
	config := types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	for _, f := range files {
		source, overwrite, mode := DataURL(f.Content), true, f.Mode
		config.Storage.Files = append(config.Storage.Files, types.File{
			Node:          types.Node{Path: f.Path, Overwrite: &overwrite},
			FileEmbedded1: types.FileEmbedded1{Contents: types.Resource{Source: &source}, Mode: &mode},
		})
	}
	return config
}

// Merge merges over into base: lists are joined, and over takes precedence. Unlike in Ignition's own merging, a file of over replaces the whole file with the
// same path in base: otherwise it would inherit the compression and the owner.
func Merge(base, over types.Config) types.Config {
	base.Storage.Files = slices.DeleteFunc(slices.Clone(base.Storage.Files), func(old types.File) bool {
		return slices.ContainsFunc(over.Storage.Files, func(f types.File) bool { return f.Path == old.Path })
	})
	return v3_2.Merge(base, over)
}

// Parse reads a configuration of specification 3.0 to 3.2. It returns warnings of Ignition's validator as text, and all its errors as the error.
func Parse(data []byte) (types.Config, []string, error) {
	config, found, err := v3_2.ParseCompatibleVersion(data)
	if err != nil {
		return types.Config{}, nil, fmt.Errorf("not an Ignition configuration of version 3.0 to %s: %w", types.MaxVersion, explain(err, found))
	}
	var warnings []string
	for _, e := range found.Entries {
		warnings = append(warnings, e.String())
	}
	return config, warnings, nil
}

// explain joins an error with the entries of its report.
func explain(err error, found report.Report) error {
	errs := []error{err}
	for _, e := range found.Entries {
		if e.Kind == report.Error {
			errs = append(errs, errors.New(e.String()))
		}
	}
	return errors.Join(errs...)
}

// Marshal returns a configuration as one line of JSON, without the empty objects of Ignition's types. It validates the result with Ignition's validator.
func Marshal(config types.Config) ([]byte, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode Ignition configuration: %w", err)
	}
	var tree any
	numbers := json.NewDecoder(bytes.NewReader(raw))
	numbers.UseNumber()
	if err := numbers.Decode(&tree); err != nil {
		return nil, fmt.Errorf("encode Ignition configuration: %w", err)
	}
	tree, _ = prune(tree)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, fmt.Errorf("encode Ignition configuration: %w", err)
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if _, found, err := v3_2.Parse(text); err != nil {
		return nil, fmt.Errorf("validate Ignition configuration: %w", explain(err, found))
	}
	return text, nil
}

// prune removes empty objects and lists; kept is false if nothing is left.
func prune(v any) (pruned any, kept bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			if p, ok := prune(child); ok {
				v[key] = p
			} else {
				delete(v, key)
			}
		}
		return v, len(v) > 0
	case []any:
		for i, child := range v {
			// Keep all elements, since their index may matter.
			v[i], _ = prune(child)
		}
		return v, len(v) > 0
	}
	return v, true
}
