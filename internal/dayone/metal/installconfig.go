package metal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// hostsPath is the path of the hosts in an install-config.
const hostsPath = "platform.baremetal.hosts"

// IsInstallConfig reports whether a text is an install-config with hosts, and not a document.
func IsInstallConfig(data []byte) bool {
	var root yaml.Node
	if len(data) > nmstate.MaxSize || yaml.Unmarshal(data, &root) != nil {
		return false
	}
	return child(&root, strings.Split(hostsPath, ".")...) != nil
}

// FromInstallConfig returns the hosts of an install-config, with or without a document. It ignores all other parts. It reports all problems at once, together
// with the valid hosts. file is used in problems.
func FromInstallConfig(file string, data []byte) ([]Host, nmstate.Problems) {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, nmstate.Problems{{File: file, Message: fmt.Sprintf("not YAML: %v", err)}}
	}
	list := child(&root, strings.Split(hostsPath, ".")...)
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, nmstate.Problems{{File: file, Path: hostsPath, Message: "is not a list of hosts"}}
	}
	r := reader{file: file, seen: map[string]int{}}
	for i, item := range list.Content {
		r.host(fmt.Sprintf("%s[%d]", hostsPath, i), item)
	}
	return r.hosts, r.problems.Sorted()
}

type reader struct {
	file  string
	hosts []Host
	seen  map[string]int // the line of each name
	// addresses has the path of each MAC address of a table.
	addresses map[string]string
	problems  nmstate.Problems
}

func (r *reader) problem(line int, path, format string, args ...any) {
	r.problems = append(r.problems, nmstate.Problem{File: r.file, Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) host(path string, item *yaml.Node) {
	var entry struct {
		Name    string  `yaml:"name"`
		Role    string  `yaml:"role"`
		Machine Machine `yaml:",inline"`
	}
	if err := item.Decode(&entry); err != nil {
		r.problem(item.Line, path, "%v", err)
		return
	}
	if wrong := CheckName(entry.Name); wrong != "" {
		r.problem(item.Line, path+".name", "%s", wrong)
		return
	}
	if line, twice := r.seen[entry.Name]; twice {
		r.problem(item.Line, path+".name", "%q is the name of the host on line %d already", entry.Name, line)
		return
	}
	r.seen[entry.Name] = item.Line
	host := Host{Name: entry.Name, Role: entry.Role, Machine: &entry.Machine, File: r.file}
	if node := child(item, "networkConfig"); node != nil && node.Tag != "!!null" {
		if node.Kind != yaml.MappingNode {
			r.problem(node.Line, path+".networkConfig", "is not a document: write its keys here, not a text")
			return
		}
		document, err := text(node)
		if err != nil {
			r.problem(node.Line, path+".networkConfig", "%v", err)
			return
		}
		host.Document = document
		host.origin = origin{path: path + ".networkConfig", node: node}
	}
	r.hosts = append(r.hosts, host)
}

// text encodes a part of a file as a separate file, with its comments; it fails if the part refers to other parts of the file.
func text(node *yaml.Node) ([]byte, error) {
	if refers(node) {
		var values any
		if err := node.Decode(&values); err != nil {
			return nil, err
		}
		return yaml.Marshal(values)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(node); err != nil {
		return nil, fmt.Errorf("write document: %w", err)
	}
	return out.Bytes(), nil
}

// refers reports whether there is an alias in a part of a file.
func refers(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || slices.ContainsFunc(node.Content, refers)
}
