// Package ignition makes Ignition configurations of specification 3.2.0: the form in which files come onto a host before
// anything else runs. They are built of Ignition's own types and judged by its own validator, in the bytes in which
// they are handed on. The same files always give the same bytes.
//
// 3.2.0 is the oldest version that every image reads which can boot a host of a cluster today.
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
	// Mode is the permission bits. Zero is zero: no one but root may read such a file.
	Mode int
	// Content is what it holds; nil is an empty file.
	Content []byte
}

// Config returns a configuration that writes files, over those that the host has already.
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

// Merge returns base with what over has: lists are joined, and over wins. Unlike in Ignition's own merging, a file of over
// replaces the one of the same path in base as a whole. Field by field, a plain file would inherit that the one
// it replaces was compressed, and its owner.
func Merge(base, over types.Config) types.Config {
	base.Storage.Files = slices.DeleteFunc(slices.Clone(base.Storage.Files), func(old types.File) bool {
		return slices.ContainsFunc(over.Storage.Files, func(f types.File) bool { return f.Path == old.Path })
	})
	return v3_2.Merge(base, over)
}

// Parse reads a configuration of specification 3.0 to 3.2. Warnings of Ignition's validator come as text; its errors,
// all of them, as the error.
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

// explain joins an error with what led to it.
func explain(err error, found report.Report) error {
	errs := []error{err}
	for _, e := range found.Entries {
		if e.Kind == report.Error {
			errs = append(errs, errors.New(e.String()))
		}
	}
	return errors.Join(errs...)
}

// Marshal returns a configuration as JSON in one line, without the empty objects that Ignition's types leave in
// it, after Ignition's validator has found no error in that very text.
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
			// An element stays, whatever is left of it: its place may matter.
			v[i], _ = prune(child)
		}
		return v, len(v) > 0
	}
	return v, true
}
