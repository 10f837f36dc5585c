// Package imageserver serves boot images that carry the network of the host they are for. It takes base images and a
// directory of documents, one for each host, and makes each image while it is read: nothing is copied, and a host costs
// memory only for its own configuration, a few kilobytes.
//
// An image holds what is in a host's document, and a management controller that fetches it can send nothing to prove
// who it is. So the URL is the secret: it has 128 random bits for each host and document, is told only to those who have
// the token, is never logged, and is gone when the program ends. Everything is read-only.
//
// A document that cannot be used leaves its host without an image, and all others with theirs. When a document changes the
// host gets another URL; the old one goes on with its old content for a while, for a host that is booting from
// it. When the document is deleted, all URLs of the host end at once.
package imageserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/ignition/v2/config/v3_2/types"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
)

// MinToken is the least length of the token for the list of hosts, in characters: 128 bits as hexadecimal digits.
const MinToken = 32

// Options are what a Server needs. All are required unless they say otherwise.
type Options struct {
	// ISO and Initramfs are the base images. One of them may be empty; images of that form are then not served.
	ISO, Initramfs string
	// Hosts is the directory of documents, <host>.yml or <host>.yaml.
	Hosts fs.FS
	// Base is merged with the configuration of each host; may be nil.
	Base *types.Config
	// EarlyNetwork also puts the profiles where the initial system uses them before Ignition has run.
	EarlyNetwork bool
	// URL is how hosts reach the server, without a slash at its end.
	URL string
	// Token is what a client must show to see the list of hosts.
	Token string
	// Retain is how long the URL of a replaced document remains valid.
	Retain time.Duration
	// Now is the clock, and Random the source of the URLs' secrets.
	Now    func() time.Time
	Random io.Reader
	Log    *slog.Logger
}

// format is a form in which an image is served.
type format struct {
	// extension ends the name of the file, with its dot.
	extension string
	// make combines the base image with a payload. The error is of a payload that is too large.
	make func(payload []byte) (*bootimage.Image, error)
}

// Server serves images. Its methods may be called at the same time.
type Server struct {
	options Options
	formats []format
	files   []*os.File
	hosts   catalog
	metrics *metrics
}

// New opens the base images. It serves nothing until the first Scan. The files stay open until Close: an image that is
// replaced on disk by renaming stays the same here.
func New(o Options) (*Server, error) {
	if len(o.Token) < MinToken {
		return nil, fmt.Errorf("the token has %d characters: it must have %d or more", len(o.Token), MinToken)
	}
	if o.ISO == "" && o.Initramfs == "" {
		return nil, errors.New("there is no base image: name an ISO, an initramfs, or both")
	}
	s := &Server{options: o, hosts: newCatalog(), metrics: newMetrics()}
	for _, open := range []func() error{s.openISO, s.openInitramfs} {
		if err := open(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Close closes the base images.
func (s *Server) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func (s *Server) openISO() error {
	if s.options.ISO == "" {
		return nil
	}
	f, size, err := s.open(s.options.ISO)
	if err != nil {
		return err
	}
	area, err := bootimage.FindArea(f, size)
	if err != nil {
		return fmt.Errorf("%s: %w", s.options.ISO, err)
	}
	used, err := bootimage.Used(f, area)
	if err != nil {
		return fmt.Errorf("%s: %w", s.options.ISO, err)
	}
	if used {
		s.options.Log.Warn("the base image contains a configuration, which is replaced", "image", s.options.ISO)
	}
	s.formats = append(s.formats, format{".iso", func(payload []byte) (*bootimage.Image, error) {
		return bootimage.ISO(f, size, area, payload)
	}})
	return nil
}

func (s *Server) openInitramfs() error {
	if s.options.Initramfs == "" {
		return nil
	}
	f, size, err := s.open(s.options.Initramfs)
	if err != nil {
		return err
	}
	s.formats = append(s.formats, format{".initramfs", func(payload []byte) (*bootimage.Image, error) {
		return bootimage.Initramfs(f, size, payload), nil
	}})
	return nil
}

func (s *Server) open(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open base image: %w", err)
	}
	s.files = append(s.files, f)
	info, err := f.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("open base image: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, 0, fmt.Errorf("base image %s is not a file with content", path)
	}
	return f, info.Size(), nil
}
