package imageserver

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/linkfile"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
)

// Scan reads the directory of documents and makes images of those that changed. What is wrong with a document is no error of
// Scan: it is in the list of hosts, and in the log. The error is of a directory that cannot be read; everything then stays
// as it was.
func (s *Server) Scan() error {
	files, err := s.documents()
	if err != nil {
		return err
	}
	alive := map[string]bool{}
	for name, paths := range files {
		alive[name] = true
		if err := s.scanHost(name, paths); err != nil {
			return err
		}
	}
	for _, name := range s.hosts.retire(alive, s.options.Now().Add(-s.options.Retain)) {
		s.options.Log.Info("host is gone", "host", name)
	}
	s.metrics.count(s.hosts.current())
	return nil
}

// documents lists the files of each host, by its name. There is something wrong if it has several.
func (s *Server) documents() (map[string][]string, error) {
	entries, err := fs.ReadDir(s.options.Hosts, ".")
	if err != nil {
		return nil, fmt.Errorf("read directory of documents: %w", err)
	}
	out := map[string][]string{}
	for _, e := range entries {
		ext := path.Ext(e.Name())
		// What begins with a dot is half-written, or how a volume of a Secret keeps its versions.
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || ext != ".yml" && ext != ".yaml" {
			continue
		}
		name := strings.TrimSuffix(e.Name(), ext)
		out[name] = append(out[name], e.Name())
	}
	return out, nil
}

// scanHost looks whether a host's document changed. The error is of randomness that failed.
func (s *Server) scanHost(name string, paths []string) error {
	if wrong := hostProblem(name, paths); wrong != "" {
		return s.put(&entry{host: name, document: sha256.Sum256([]byte(wrong)), problems: nmstate.Problems{{File: paths[0], Message: wrong}}})
	}
	data, err := s.read(paths[0])
	if err != nil {
		wrong := err.Error()
		return s.put(&entry{host: name, document: sha256.Sum256([]byte(wrong)), problems: nmstate.Problems{{File: paths[0], Message: wrong}}})
	}
	document := digest(sha256.Sum256(data))
	if s.hosts.has(name, document) {
		return nil
	}
	images, problems := s.build(paths[0], data)
	return s.put(&entry{host: name, document: document, images: images, problems: problems})
}

func hostProblem(name string, paths []string) string {
	if len(paths) > 1 {
		slices.Sort(paths)
		return fmt.Sprintf("host %s has several documents (%s): keep one", name, strings.Join(paths, ", "))
	}
	return metal.CheckName(name)
}

func (s *Server) read(name string) ([]byte, error) {
	f, err := s.options.Hosts.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, nmstate.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return data, nil
}

// put makes an entry the one of its host, unless it is so already. One with images gets a URL.
func (s *Server) put(e *entry) error {
	if s.hosts.has(e.host, e.document) {
		return nil
	}
	for _, p := range e.problems.Errors() {
		s.options.Log.Warn("host lacks an image", "host", e.host, "problem", p.String())
	}
	if len(e.images) > 0 {
		secret, err := newSecret(s.options.Random)
		if err != nil {
			return err
		}
		e.secret = secret
		s.options.Log.Info("host has an image", "host", e.host, "document", fmt.Sprintf("%x", e.document[:8]))
	}
	s.hosts.put(e, s.options.Now())
	return nil
}

// build makes the images of a document, in all forms. A form it does not fit into is a problem, and the others are made.
func (s *Server) build(name string, data []byte) (map[string]*bootimage.Image, nmstate.Problems) {
	files, problems := preboot.Render(name, data)
	if problems.HasErrors() {
		return nil, problems
	}
	problems = append(problems, linkfile.Left(files.Document)...)
	failed := func(err error) nmstate.Problems {
		return append(problems, nmstate.Problem{File: name, Message: err.Error()})
	}
	config, err := ignition.Marshal(preboot.Config(files, s.options.Base))
	if err != nil {
		return nil, failed(err)
	}
	var more []bootimage.File
	if s.options.EarlyNetwork {
		more = preboot.EarlyFiles(files)
	}
	payload, err := bootimage.Payload(config, more...)
	if err != nil {
		return nil, failed(err)
	}
	images := map[string]*bootimage.Image{}
	for _, f := range s.formats {
		image, err := f.make(payload)
		if err != nil {
			problems = failed(fmt.Errorf("no %s: %w", strings.TrimPrefix(f.extension, "."), err))
			continue
		}
		images[f.extension] = image
	}
	return images, problems
}
