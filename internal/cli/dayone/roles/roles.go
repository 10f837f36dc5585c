// Package roles reads host network configuration in all of its forms as the files of roles: documents,
// directories of documents, MachineConfigs, HostNetworkConfigs, and the input of installers.
package roles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	mcfgv1 "github.com/openshift/api/machineconfiguration/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// maxFile is the maximum size of a file in bytes: more than etcd accepts for an object.
const maxFile = 64 << 20

// Host is a host and its document before the boot.
type Host struct {
	// Name is that of the host and its node, and BareMetalHost that of the object of its machine, which may differ.
	Name, BareMetalHost string
	Role                string
	Document            []byte

	// read is the document as it was read, with the warnings about it; nil if it was not read yet.
	read     *nmstate.Document
	warnings nmstate.Problems
	// locate returns a problem with the document at its place in the file; nil if that is not known.
	locate func(nmstate.Problem) nmstate.Problem
}

// Found is the content of files.
type Found struct {
	// Roles are sorted by name. Documents that name no role are in the one that the reader was given.
	Roles []placement.Role
	// PreBoot are the hosts with a document for the time before the boot.
	PreBoot []Host
	// WithoutBridge is that of a HostNetworkConfig; the networks and addresses are those of an install-config.
	WithoutBridge   bool
	MachineNetworks []netip.Prefix
	VIPs            []netip.Addr
	// Plain is set if the only content is one document, as a file of its own.
	Plain    bool
	Problems nmstate.Problems

	// documents are files of roles that were read already.
	documents validation.Documents
}

// Reader reads files.
type Reader struct {
	Stdin io.Reader
	// StdinName is the name of the file that standard input has the content of; empty if there is none.
	StdinName string
	// Role is that of documents that name none; may be empty.
	Role string

	files   map[string]placement.Files
	configs []mcfgv1.MachineConfig
	found   Found
}

// Read reads files and directories; - is standard input. Content that cannot be used is reported in Problems, content that cannot be read
// as an error.
func (r *Reader) Read(paths []string) (Found, error) {
	r.files, r.configs, r.found = map[string]placement.Files{}, nil, Found{}
	for _, path := range paths {
		if err := r.path(path); err != nil {
			return Found{}, err
		}
	}
	fromConfigs, err := machineconfig.Unpack(r.configs)
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			r.found.Problems = append(r.found.Problems, nmstate.Problem{Message: line})
		}
	}
	for role, files := range fromConfigs {
		for _, file := range files {
			r.add(role, file)
		}
	}
	for role, files := range r.files {
		r.found.Roles = append(r.found.Roles, placement.Role{Name: role, Files: files.Sort()})
	}
	slices.SortFunc(r.found.Roles, func(a, b placement.Role) int { return strings.Compare(a.Name, b.Name) })
	return r.found, nil
}

func (r *Reader) path(path string) error {
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		files, err := placement.ReadDir(os.DirFS(path))
		if err != nil {
			return err
		}
		for _, file := range files {
			r.add(r.Role, file)
		}
		return nil
	}
	content, err := r.content(path)
	if err != nil {
		return err
	}
	if path == "-" && r.StdinName != "" {
		path = r.StdinName
	}
	return r.file(path, content)
}

func (r *Reader) content(path string) ([]byte, error) {
	in := r.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return content, nil
}

// file distinguishes the forms.
func (r *Reader) file(path string, content []byte) error {
	if metal.IsInput(content) {
		r.installerInput(path, content)
		return nil
	}
	documents := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for first := true; ; first = false {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: split YAML: %w", path, err)
		}
		if isBlank(document) && !(first && isBlank(content)) {
			continue // a comment before the first ---
		}
		var head struct{ APIVersion, Kind string }
		// Text that is not YAML is not an object; reading it as a document reports that.
		if yaml.Unmarshal(document, &head) != nil || head.APIVersion == "" || head.Kind == "" {
			r.found.Plain = r.found.Plain || len(r.files) == 0
			r.add(r.Role, placement.File{Name: nameOf(path), Content: content})
			return nil
		}
		if err := r.object(path, head.Kind, document, firstLine(content, document)); err != nil {
			return err
		}
	}
}

// isBlank reports whether a text has only comments and empty lines.
func isBlank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// firstLine returns the line of a file on which one of its documents begins; 0 if it is not found.
func firstLine(content, document []byte) int {
	at := bytes.Index(content, document)
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(content[:at], []byte("\n"))
}

// nameOf returns the name that a document's file has on the host. Both extensions are accepted.
func nameOf(path string) string {
	if path == "-" {
		return placement.ClusterFile
	}
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base)) + placement.Extension
}

func (r *Reader) add(role string, file placement.File) {
	if existing, ok := r.files[role].Get(file.Name); ok && !bytes.Equal(existing.Content, file.Content) {
		r.found.Problems = append(r.found.Problems, nmstate.Problem{File: file.Name, Message: "exists twice, with different content"})
		return
	} else if !ok {
		r.files[role] = append(r.files[role], file)
	}
}

func (r *Reader) object(path, kind string, document []byte, first int) error {
	switch kind {
	case "MachineConfig":
		var config mcfgv1.MachineConfig
		if err := yaml.Unmarshal(document, &config); err != nil {
			return fmt.Errorf("%s: decode MachineConfig: %w", path, err)
		}
		r.configs = append(r.configs, config)
	case "List", "MachineConfigList":
		var list struct{ Items []map[string]any }
		if err := yaml.Unmarshal(document, &list); err != nil {
			return fmt.Errorf("%s: decode %s: %w", path, kind, err)
		}
		for _, item := range list.Items {
			encoded, err := yaml.Marshal(item)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			inner, _ := item["kind"].(string)
			if inner == "" {
				inner = "MachineConfig"
			}
			if err := r.object(path, inner, encoded, 0); err != nil {
				return err
			}
		}
	case "HostNetworkConfig":
		r.hostNetworkConfig(path, document, first)
	default:
		return fmt.Errorf("%s: an object of kind %s holds no host network configuration; give documents, MachineConfigs, HostNetworkConfigs, an install-config, an agent-config or NMStateConfigs", path, kind)
	}
	return nil
}

func (r *Reader) installerInput(path string, content []byte) {
	hosts, problems := metal.Hosts(path, content)
	r.found.Problems = append(r.found.Problems, problems...)
	for _, h := range hosts {
		if h.Document != nil {
			r.found.PreBoot = append(r.found.PreBoot, Host{Name: h.Name, BareMetalHost: h.Name, Role: h.Role, Document: h.Document, locate: func(p nmstate.Problem) nmstate.Problem {
				return h.Locate(nmstate.Problems{p})[0]
			}})
		}
	}
	var config struct {
		Networking struct {
			MachineNetwork []struct{ CIDR string }
		}
		Platform struct {
			BareMetal struct{ APIVIPs, IngressVIPs []string }
		}
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		return // reported by metal.Hosts
	}
	for _, n := range config.Networking.MachineNetwork {
		if prefix, err := netip.ParsePrefix(n.CIDR); err == nil {
			r.found.MachineNetworks = append(r.found.MachineNetworks, prefix)
		}
	}
	for _, text := range slices.Concat(config.Platform.BareMetal.APIVIPs, config.Platform.BareMetal.IngressVIPs) {
		if addr, err := netip.ParseAddr(text); err == nil {
			r.found.VIPs = append(r.found.VIPs, addr)
		}
	}
}
