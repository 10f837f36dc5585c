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

// Scan reads the directory of documents, and creates images of changed ones. Problems of documents are in the list of hosts and in the log. If the directory
// cannot be read, Scan returns an error and keeps all images. It also ends replaced URLs after Options.Retain, even without a directory.
func (s *Server) Scan() error {
	s.hosts.expire(s.options.Now().Add(-s.options.Retain))
	if s.options.Hosts == nil {
		return nil
	}
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
	for _, name := range s.hosts.remove(func(key string) bool { return !alive[key] && !offered(key) }) {
		s.options.Log.Info("host removed", "host", name)
	}
	s.metrics.count(s.hosts.current())
	return nil
}

// documents returns the files of each host by name. Several files for a host are a problem.
func (s *Server) documents() (map[string][]string, error) {
	entries, err := fs.ReadDir(s.options.Hosts, ".")
	if err != nil {
		return nil, fmt.Errorf("read directory of documents: %w", err)
	}
	out := map[string][]string{}
	for _, e := range entries {
		ext := path.Ext(e.Name())
		// Names with a leading dot are temporary files, or versions in a volume of a Secret.
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || ext != ".yml" && ext != ".yaml" {
			continue
		}
		name := strings.TrimSuffix(e.Name(), ext)
		out[name] = append(out[name], e.Name())
	}
	return out, nil
}

// scanHost updates the entry of a host if its document has changed. The error is that of the random source.
func (s *Server) scanHost(name string, paths []string) error {
	if wrong := hostProblem(name, paths); wrong != "" {
		return s.put(refused(name, paths[0], wrong))
	}
	data, err := s.read(paths[0])
	if err != nil {
		return s.put(refused(name, paths[0], err.Error()))
	}
	document := digest(sha256.Sum256(data))
	if s.hosts.of(name, document) != nil {
		return nil
	}
	images, problems := s.build(paths[0], data)
	return s.put(&entry{key: name, host: name, document: document, images: images, problems: problems})
}

// refused returns the entry of a host without a readable document.
func refused(name, file, wrong string) *entry {
	return &entry{key: name, host: name, document: sha256.Sum256([]byte(wrong)), problems: nmstate.Problems{{File: file, Message: wrong}}}
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

// put makes an entry the current one of its host, and creates the URL of an entry with images.
func (s *Server) put(e *entry) error {
	if s.hosts.of(e.key, e.document) != nil {
		return nil
	}
	for _, p := range e.problems.Errors() {
		s.options.Log.Warn("host lacks an image", "host", e.key, "problem", p.String())
	}
	if len(e.images) > 0 {
		if e.secret == "" {
			secret, err := newSecret(s.options.Random)
			if err != nil {
				return err
			}
			e.secret = secret
		}
		s.options.Log.Info("host has an image", "host", e.key, "document", fmt.Sprintf("%x", e.document[:8]))
	}
	s.hosts.put(e, s.options.Now())
	return nil
}

// build creates the images of a document in all formats. A format that is too small for the document is a problem; the others are created.
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
