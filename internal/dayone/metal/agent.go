package metal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// The kinds of the Agent-based Installer and of the Assisted Installer.
const (
	agentConfig   = "AgentConfig"
	nmStateConfig = "NMStateConfig"
)

// IsInput reports whether a text is an installer's input with hosts: an install-config, an agent-config, or NMStateConfigs.
func IsInput(data []byte) bool {
	if IsInstallConfig(data) {
		return true
	}
	// Avoid parsing most documents twice.
	if !bytes.Contains(data, []byte(agentConfig)) && !bytes.Contains(data, []byte(nmStateConfig)) {
		return false
	}
	documents, err := split(data)
	return err == nil && slices.ContainsFunc(documents, func(n *yaml.Node) bool {
		kind := kindOf(n)
		return kind == agentConfig || kind == nmStateConfig
	})
}

// Hosts returns the hosts of an installer's input, as FromInstallConfig does.
//
// An agent-config and an NMStateConfig have a table of names and MAC addresses. The installer replaces the names in the document by the names on the host with
// these addresses. This package sets the identifier mac-address for the network cards of the table, which has the same effect.
func Hosts(file string, data []byte) ([]Host, nmstate.Problems) {
	if IsInstallConfig(data) {
		return FromInstallConfig(file, data)
	}
	r := reader{file: file, seen: map[string]int{}, addresses: map[string]string{}}
	documents, err := split(data)
	if err != nil {
		return nil, nmstate.Problems{{File: file, Message: fmt.Sprintf("not YAML: %v", err)}}
	}
	for _, n := range documents {
		switch kind := kindOf(n); kind {
		case agentConfig:
			r.agentConfig(n)
		case nmStateConfig:
			r.nmStateConfig(n)
		default:
			r.problems = append(r.problems, nmstate.Problem{File: file, Line: n.Line, Warning: true,
				Message: fmt.Sprintf("has an object of kind %q, which is skipped: of a file with %s only that is read", kind, nmStateConfig)})
		}
	}
	return r.hosts, r.problems.Sorted()
}

// split returns the documents of a YAML stream, with line numbers of the stream.
func split(data []byte) ([]*yaml.Node, error) {
	if len(data) > nmstate.MaxSize {
		return nil, fmt.Errorf("has more than %d bytes", nmstate.MaxSize)
	}
	var out []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(n.Content) == 1 && n.Content[0].Kind == yaml.MappingNode {
			out = append(out, n.Content[0])
		}
	}
}

func kindOf(n *yaml.Node) string {
	if kind := child(n, "kind"); kind != nil {
		return kind.Value
	}
	return ""
}

func (r *reader) agentConfig(n *yaml.Node) {
	list := child(n, "hosts")
	if list == nil || list.Kind != yaml.SequenceNode {
		r.problem(n.Line, "hosts", "is not a list of hosts")
		return
	}
	for i, item := range list.Content {
		path := fmt.Sprintf("hosts[%d]", i)
		var host struct {
			Hostname   string         `yaml:"hostname"`
			Role       string         `yaml:"role"`
			RootDevice map[string]any `yaml:"rootDeviceHints"`
		}
		if err := item.Decode(&host); err != nil {
			r.problem(item.Line, path, "%v", err)
			continue
		}
		table := r.table(child(item, "interfaces"), path+".interfaces")
		machine := &Machine{RootDevice: host.RootDevice}
		if len(table) > 0 {
			machine.BootMACAddress = table[0].mac
		}
		name, at := host.Hostname, path+".hostname"
		if name == "" && len(table) > 0 {
			name = strings.ReplaceAll(table[0].mac, ":", "-")
		}
		r.found(item, at, Host{Name: name, Role: host.Role, Machine: machine, File: r.file}, path+".networkConfig", child(item, "networkConfig"), table)
	}
}

func (r *reader) nmStateConfig(n *yaml.Node) {
	name := ""
	if at := child(n, "metadata", "name"); at != nil {
		name = at.Value
	}
	table := r.table(child(n, "spec", "interfaces"), "spec.interfaces")
	if len(table) == 0 {
		r.problem(n.Line, "spec.interfaces", "is empty; the host is found by the MAC addresses in it")
	}
	r.found(n, "metadata.name", Host{Name: name, File: r.file}, "spec.config", child(n, "spec", "config"), table)
}

// card is an entry of a table: a name in the document, and the MAC address of the network card.
type card struct{ name, mac string }

func (r *reader) table(n *yaml.Node, path string) (cards []card) {
	if n == nil {
		return nil
	}
	names := map[string]bool{}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		var entry struct {
			Name string `yaml:"name"`
			MAC  string `yaml:"macAddress"`
		}
		if err := item.Decode(&entry); err != nil {
			r.problem(item.Line, at, "%v", err)
			continue
		}
		mac, err := net.ParseMAC(entry.MAC)
		switch {
		case entry.Name == "":
			r.problem(item.Line, at+".name", "is missing")
			continue
		case err != nil:
			r.problem(item.Line, at+".macAddress", "%q is not a MAC address", entry.MAC)
			continue
		case names[entry.Name]:
			r.problem(item.Line, at+".name", "%q is written twice", entry.Name)
			continue
		case r.addresses[mac.String()] != "":
			r.problem(item.Line, at+".macAddress", "%s is that of %s already", mac, r.addresses[mac.String()])
			continue
		}
		names[entry.Name], r.addresses[mac.String()] = true, at
		cards = append(cards, card{entry.Name, mac.String()})
	}
	return cards
}

// found adds a host with its document.
func (r *reader) found(item *yaml.Node, namePath string, host Host, path string, document *yaml.Node, table []card) {
	if wrong := CheckName(host.Name); wrong != "" {
		r.problem(item.Line, namePath, "%s", wrong)
		return
	}
	if line, twice := r.seen[host.Name]; twice {
		r.problem(item.Line, namePath, "%q is the name of the host on line %d already", host.Name, line)
		return
	}
	r.seen[host.Name] = item.Line
	if document != nil && document.Tag != "!!null" {
		if document.Kind != yaml.MappingNode {
			r.problem(document.Line, path, "is not a document: write its keys here, not a text")
			return
		}
		identified, err := plainCopy(document)
		if err != nil {
			r.problem(document.Line, path, "%v", err)
			return
		}
		r.identify(identified, path, table)
		content, err := text(identified)
		if err != nil {
			r.problem(document.Line, path, "%v", err)
			return
		}
		host.Document, host.origin = content, origin{path: path, node: identified}
	}
	r.hosts = append(r.hosts, host)
}

// identify changes a document so that the network cards of a table are identified by their MAC addresses, and appends undeclared cards. A card is still
// identified by its name, with a warning, if the document sets another MAC address, or uses the name where NetworkManager requires the kernel's name.
func (r *reader) identify(document *yaml.Node, path string, table []card) {
	list := child(document, "interfaces")
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for _, c := range table {
		if at := kernelName(list, c.name); at != nil {
			r.problems = append(r.problems, nmstate.Problem{File: r.file, Line: at.Line, Path: path, Warning: true,
				Message: fmt.Sprintf("names %s where NetworkManager needs the name that the kernel gives the card: it is not found by its MAC address %s, and must have that name", c.name, c.mac)})
			continue
		}
		entry := declared(list, c.name)
		if entry == nil {
			if !mentions(document, c.name) {
				continue
			}
			entry = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: list.Line}
			put(entry, "name", c.name)
			put(entry, "type", "ethernet")
			put(entry, "state", "up")
			list.Content = append(list.Content, entry)
		}
		if kind := child(entry, "type"); kind != nil && kind.Value != "ethernet" || child(entry, "identifier") != nil {
			continue
		}
		if own := child(entry, "mac-address"); own != nil {
			if mac, err := net.ParseMAC(own.Value); err == nil && mac.String() != c.mac {
				r.problems = append(r.problems, nmstate.Problem{File: r.file, Line: own.Line, Path: path, Warning: true,
					Message: fmt.Sprintf("gives %s another MAC address than the table: it is not found by %s, and must have that name", c.name, c.mac)})
				continue
			}
		} else {
			put(entry, "mac-address", strings.ToUpper(c.mac))
		}
		put(entry, "identifier", "mac-address")
	}
}

// kernelName returns the node where a document needs the kernel's name of a card; nil if there is none.
func kernelName(n *yaml.Node, name string) *yaml.Node {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Value == name && slices.Contains([]string{"primary", "peer", "iif", "port1", "port2"}, n.Content[i-1].Value) {
			return c
		}
		if found := kernelName(c, name); found != nil {
			return found
		}
	}
	return nil
}

func declared(list *yaml.Node, name string) *yaml.Node {
	for _, entry := range list.Content {
		if at := child(entry, "name"); at != nil && at.Value == name {
			return entry
		}
	}
	return nil
}

// mentions reports whether a name is a value anywhere.
func mentions(n *yaml.Node, name string) bool {
	return n.Kind == yaml.ScalarNode && n.Value == name || slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return mentions(c, name) })
}

func put(n *yaml.Node, key, value string) {
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key, Line: n.Line},
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Line: n.Line})
}

// plainCopy returns a copy of a document with aliases resolved. The decoder limits the size.
func plainCopy(n *yaml.Node) (*yaml.Node, error) {
	if !refers(n) {
		return clone(n), nil
	}
	var values any
	if err := n.Decode(&values); err != nil {
		return nil, err
	}
	var out yaml.Node
	if err := out.Encode(values); err != nil {
		return nil, err
	}
	setLines(&out, n.Line)
	return &out, nil
}

func clone(n *yaml.Node) *yaml.Node {
	out := *n
	out.Content = nil
	for _, c := range n.Content {
		out.Content = append(out.Content, clone(c))
	}
	return &out
}

func setLines(n *yaml.Node, line int) {
	n.Line = line
	for _, c := range n.Content {
		setLines(c, line)
	}
}
