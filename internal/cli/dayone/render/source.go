package render

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// source reads hosts from files.
type source struct {
	stdin io.Reader
	// only names the hosts to keep; all if empty.
	only []string
	// named requires names of hosts: the document on standard input needs one.
	named bool

	found    []metal.Host
	from     map[string]string // the file of each host
	problems nmstate.Problems
}

// hosts reads all files. The problems are those of hosts' names and of install-configs; documents are not checked yet.
func (s *source) hosts(files []string) ([]metal.Host, nmstate.Problems, error) {
	s.from = map[string]string{}
	paths, err := expand(files)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		data, err := s.read(path)
		if err != nil {
			return nil, nil, err
		}
		if err := s.add(path, data, len(paths)); err != nil {
			return nil, nil, err
		}
	}
	kept := s.found
	if len(s.only) > 0 {
		kept = slices.DeleteFunc(kept, func(h metal.Host) bool { return !slices.Contains(s.only, h.Name) })
		for _, name := range s.only {
			if _, ok := s.from[name]; !ok && len(s.problems) == 0 {
				return nil, nil, fmt.Errorf("--host %s: no file is for a host with that name", name)
			}
		}
	}
	if len(kept) == 0 && len(s.problems) == 0 {
		return nil, nil, fmt.Errorf("no host in %s", strings.Join(files, ", "))
	}
	return kept, s.problems, nil
}

// expand replaces directories by the documents in them.
func expand(files []string) ([]string, error) {
	var out []string
	for _, file := range files {
		info, err := os.Stat(file)
		if file == "-" || err != nil || !info.IsDir() {
			// A missing file is an error when it is read.
			out = append(out, file)
			continue
		}
		entries, err := os.ReadDir(file)
		if err != nil {
			return nil, fmt.Errorf("read directory: %w", err)
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yml" || ext == ".yaml") {
				out = append(out, filepath.Join(file, e.Name()))
			}
		}
	}
	return out, nil
}

func (s *source) read(path string) ([]byte, error) {
	in := s.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read document: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	// One byte more than the limit of a document, so that a larger one is detected.
	data, err := io.ReadAll(io.LimitReader(in, nmstate.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// add adds the hosts of one of several files.
func (s *source) add(path string, data []byte, files int) error {
	if metal.IsInput(data) {
		hosts, problems := metal.Hosts(path, data)
		s.problems = append(s.problems, problems...)
		for _, h := range hosts {
			s.host(path, h)
		}
		return nil
	}
	if roles.IsHostNetworkConfig(data) {
		hosts, problems := roles.PreBoot(path, data)
		s.problems = append(s.problems, problems...)
		for _, h := range hosts {
			s.host(path, metal.Host{Name: h.BareMetalHost, Role: h.Role, Document: h.Document})
		}
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	switch {
	case files == 1 && len(s.only) == 1:
		name = s.only[0]
	case path == "-" && s.named:
		return fmt.Errorf("--host must name the host of the document on standard input")
	}
	s.host(path, metal.Host{Name: name, Document: data})
	return nil
}

func (s *source) host(path string, h metal.Host) {
	if other, exists := s.from[h.Name]; exists {
		s.problems = append(s.problems, nmstate.Problem{File: path, Message: fmt.Sprintf("host %s is also in %s", h.Name, other)})
		return
	}
	s.from[h.Name] = path
	if h.File == "" {
		h.File = path
	}
	s.found = append(s.found, h)
}
