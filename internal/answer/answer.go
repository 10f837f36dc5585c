// Package answer is the flag -o of all commands that print something, and the forms that it names: text for people, JSON
// and YAML for programs. JSON and YAML of one value hold the same fields.
package answer

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

// Form is how a command prints its answer. It is a flag; the zero value is Text.
type Form string

// The forms.
const (
	Text Form = "text"
	JSON Form = "json"
	YAML Form = "yaml"
)

// forms are all of them, in the order in which they are offered.
var forms = []string{string(Text), string(JSON), string(YAML)}

// Add adds -o, --output to a command, with its completion.
func (f *Form) Add(cmd *cobra.Command) {
	*f = Text
	cmd.Flags().VarP(f, "output", "o", "text, json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// Set is part of pflag.Value.
func (f *Form) Set(name string) error {
	if !slices.Contains(forms, name) {
		return fmt.Errorf("%q is not text, json or yaml", name)
	}
	*f = Form(name)
	return nil
}

// String is part of pflag.Value.
func (f *Form) String() string { return string(*f) }

// Type is part of pflag.Value; help shows it.
func (f *Form) Type() string { return "form" }

// ForPeople reports whether text is wanted, which each command writes itself.
func (f Form) ForPeople() bool { return f == Text || f == "" }

// Write writes a value as JSON or YAML. What is neither is JSON.
func (f Form) Write(w io.Writer, v any) error {
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetIndent("", "  ")
	// What is printed goes to files and programs, not into web pages.
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
