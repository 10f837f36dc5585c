// Package doctest finds the examples in the documentation, so that a test can execute them: YAML in the fenced
// blocks of README.md and of everything below docs/.
//
// A block with a yaml fence, which holds objects of this project, is an example that the API server must
// accept. The word refused after yaml marks one that it must refuse; if a block with a text fence follows
// at once, that is what the server must answer, line by line:
//
//	```yaml refused
//	...
//	```
//	```text
//	spec.clusterNetwork[0].cidr: ...
//	```
//
// Blocks without apiVersion and kind are parts of objects; they need only be YAML.
package doctest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Block is one YAML block of a document.
type Block struct {
	// File is the path of the document, and Line that of the fence in it, counted from 1.
	File string
	Line int
	// Refused is true if the API server must refuse the objects.
	Refused bool
	// Content is what is between the fences.
	Content string
	// Answer holds the lines that the server's answer must contain, if the document has it.
	Answer []string
}

// String names the block as editors and compilers do.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.File, b.Line) }

// Blocks returns the YAML blocks of README.md and of every Markdown file below docs/, file by file. It is an
// error if a fence is not closed.
func Blocks(repository fs.FS) ([]Block, error) {
	files := []string{"README.md"}
	err := fs.WalkDir(repository, "docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	var all []Block
	for _, name := range files {
		content, err := fs.ReadFile(repository, name)
		if err != nil {
			return nil, fmt.Errorf("read document: %w", err)
		}
		blocks, err := inDocument(name, string(content))
		if err != nil {
			return nil, err
		}
		all = append(all, blocks...)
	}
	return all, nil
}

// inDocument returns the YAML blocks of one document.
func inDocument(name, content string) ([]Block, error) {
	var found []Block
	lines := strings.Split(content, "\n")
	after := -1 // the line after the last YAML block, where its answer may begin
	for i := 0; i < len(lines); i++ {
		words, indent, ok := opening(lines[i])
		if !ok {
			if strings.TrimSpace(lines[i]) == "" && after == i {
				after++
			}
			continue
		}
		end := closing(lines, i+1)
		if end < 0 {
			return nil, fmt.Errorf("%s:%d: the fence is not closed", name, i+1)
		}
		body := unindent(lines[i+1:end], indent)
		switch {
		case len(words) > 0 && words[0] == "yaml":
			found = append(found, Block{File: name, Line: i + 1, Refused: slices.Contains(words, "refused"), Content: strings.Join(body, "\n")})
			after = end + 1
		case len(words) > 0 && words[0] == "text" && after == i:
			found[len(found)-1].Answer = body
		}
		i = end
	}
	return found, nil
}

// opening returns the words after a fence, and how far it is indented. ok is false if the line is no fence.
func opening(line string) (words []string, indent int, ok bool) {
	trimmed := strings.TrimLeft(line, " ")
	rest, ok := strings.CutPrefix(trimmed, "```")
	return strings.Fields(rest), len(line) - len(trimmed), ok
}

func closing(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "```" {
			return i
		}
	}
	return -1
}

// unindent removes the indentation of the fence, which belongs to the list that the block is part of.
func unindent(lines []string, indent int) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimPrefix(line, strings.Repeat(" ", min(indent, len(line)-len(strings.TrimLeft(line, " ")))))
	}
	return out
}

// Objects decodes the objects of the block. There are none if it holds parts of objects. The error has the position
// the block is.
func (b Block) Objects() ([]*unstructured.Unstructured, error) {
	objects, err := Objects([]byte(b.Content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	return objects, nil
}

// Objects decodes YAML documents, and leaves out those without apiVersion and kind. A key that is written twice
// is an error.
func Objects(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split YAML: %w", err)
		}
		var decoded any
		if err := yaml.UnmarshalStrict(document, &decoded); err != nil {
			return nil, fmt.Errorf("decode YAML: %w", err)
		}
		fields, _ := decoded.(map[string]any)
		if object := (&unstructured.Unstructured{Object: fields}); object.GetAPIVersion() != "" && object.GetKind() != "" {
			objects = append(objects, object)
		}
	}
}
