// Package imageserver serves boot images with the network configuration of their host. It combines base images with a document for each host while an image
// is read, without copies: a host needs only a few kilobytes of memory. Documents come from a directory, and from Offer.
//
// An image contains a host's document, and a management controller that downloads it cannot authenticate. Therefore the URL is secret: it has 128 bits for
// each host and document, and is never logged. For a document of the directory, they are random, are disclosed only to clients with the token, and are lost
// when the process ends. For an offered document, they depend on a key and on the content of the image, and are the same after a restart and on all servers
// with the same key, base images and configuration. All endpoints are read-only.
//
// The host of an invalid document has no image; other hosts are not affected. When a document changes, the host gets a new URL; the old URL serves the old
// content for a while, for a host that is booting from it. When the document is deleted, all URLs of the host end at once.
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

// MinToken is the minimum length of the token for the list of hosts in characters: 128 bits as hexadecimal digits.
const MinToken = 32

// Options are the options of a Server. All are required unless their comment says otherwise.
type Options struct {
	// ISO and Initramfs are the base images. One of them may be empty; images of that form are then not served.
	ISO, Initramfs string
	// Kernel is the file of the kernel for the initramfs; empty for none.
	Kernel string
	// Hosts is the directory of documents, <host>.yml or <host>.yaml; nil for none.
	Hosts fs.FS
	// Base is merged with the configuration of each host; may be nil.
	Base *types.Config
	// EarlyNetwork is true to also add the profiles for the network that the initial file system configures before Ignition runs.
	EarlyNetwork bool
	// URL is the URL of the server for hosts, without a trailing slash.
	URL string
	// Token is the bearer token for the list of hosts. It may be empty without Hosts; there is then no list.
	Token string
	// URLKey is the key of the URLs of offered documents; empty if none is offered.
	URLKey string
	// Retain is how long the URL of a replaced document remains valid.
	Retain time.Duration
	// Now is the clock, and Random the source of random secrets.
	Now    func() time.Time
	Random io.Reader
	Log    *slog.Logger
}

// format is an image format.
type format struct {
	// extension is the file extension, with its dot.
	extension string
	// make combines the base image with a payload. The error is that of a payload that is too large.
	make func(payload []byte) (*bootimage.Image, error)
	// base is the base image, and size its size in bytes.
	base io.ReaderAt
	size int64
}

// Server serves images. It is safe for concurrent use.
type Server struct {
	options Options
	formats []format
	files   []*os.File
	kernel  *kernel
	hosts   catalog
	metrics *metrics
	// content is the digest of the common content of all images; only with a URLKey.
	content digest
}

// New returns a server with open base images. It serves no images until the first Scan. The files stay open until Close, so that replacing them on disk has
// no effect.
func New(o Options) (*Server, error) {
	if (o.Token != "" || o.Hosts != nil) && len(o.Token) < MinToken {
		return nil, fmt.Errorf("the token has %d characters: it must have %d or more", len(o.Token), MinToken)
	}
	if o.URLKey != "" && len(o.URLKey) < MinToken {
		return nil, fmt.Errorf("the key of URLs has %d characters: it must have %d or more", len(o.URLKey), MinToken)
	}
	if o.ISO == "" && o.Initramfs == "" {
		return nil, errors.New("there is no base image: name an ISO, an initramfs, or both")
	}
	s := &Server{options: o, hosts: newCatalog(), metrics: newMetrics()}
	for _, open := range []func() error{s.openISO, s.openInitramfs, s.openKernel, s.identify} {
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
	s.formats = append(s.formats, format{extension: ".iso", base: f, size: size, make: func(payload []byte) (*bootimage.Image, error) {
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
	s.formats = append(s.formats, format{extension: ".initramfs", base: f, size: size, make: func(payload []byte) (*bootimage.Image, error) {
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
