// Package output implements the flag -o of commands and its formats: text, JSON and YAML. JSON and YAML of a value have the
// same fields.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Format is the output format of a command. It is a flag; the zero value is Text.
type Format string

// The formats.
const (
	Text Format = "text"
	JSON Format = "json"
	YAML Format = "yaml"
)

// forms are all formats, in the order of the completion.
var forms = []string{string(Text), string(JSON), string(YAML)}

// Add adds -o, --output to a command, with its completion.
func (f *Format) Add(cmd *cobra.Command) {
	*f = Text
	cmd.Flags().VarP(f, "output", "o", "text, json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// Set is part of pflag.Value.
func (f *Format) Set(name string) error {
	if !slices.Contains(forms, name) {
		return fmt.Errorf("%q is not text, json or yaml", name)
	}
	*f = Format(name)
	return nil
}

// String is part of pflag.Value.
func (f *Format) String() string { return string(*f) }

// Type is part of pflag.Value; help shows it.
func (f *Format) Type() string { return "format" }

// ForPeople reports whether the format is text, which each command writes itself.
func (f Format) ForPeople() bool { return f == Text || f == "" }

// Write writes a value as YAML for YAML, and otherwise as JSON.
func (f Format) Write(w io.Writer, v any) error {
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetIndent("", "  ")
	// The output is not embedded in web pages.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	raw := buffer.Bytes()
	if f == YAML {
		var err error
		if raw, err = yaml.JSONToYAML(raw); err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
	}
	_, err := io.WriteString(w, strings.TrimSuffix(string(raw), "\n")+"\n")
	return err
}
