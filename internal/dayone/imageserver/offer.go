package imageserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Offer is a host and its document from a source other than the directory.
type Offer struct {
	Namespace, Name string
	// Version has other values whose change gives the host a new URL, such as the version of the object with the document.
	Version []string
	// File is the name of the document in problems.
	File string
	// Document may be empty: the image then has no network configuration.
	Document []byte
}

// Offered is the result of an Offer. A URL is empty if there is no image of that format; Problems then has the reason, unless there is no base image of the
// format.
type Offered struct {
	ISO, Initramfs string
	Problems       nmstate.Problems
}

// Offer serves images of a host until Withdraw. They replace the images of its former document, whose URLs end after Options.Retain. The same offer has the
// same URLs. Offer needs Options.URLKey. Errors of the document are in Offered.Problems.
func (s *Server) Offer(o Offer) (Offered, error) {
	if s.options.URLKey == "" {
		return Offered{}, errors.New("the server has no key for URLs of documents that are offered")
	}
	document := s.digest(o)
	key := offerKey(o.Namespace, o.Name)
	e := s.hosts.of(key, document)
	if e == nil {
		e = &entry{key: key, host: o.Name, document: document, secret: s.derive(document)}
		e.images, e.problems = s.build(o.File, o.Document)
		if err := s.put(e); err != nil {
			return Offered{}, err
		}
		s.metrics.count(s.hosts.current())
	}
	return Offered{ISO: s.url(e, ".iso"), Initramfs: s.url(e, ".initramfs"), Problems: e.problems}, nil
}

// Withdraw ends all URLs of an offered host. It does nothing for other hosts.
func (s *Server) Withdraw(namespace, name string) {
	key := offerKey(namespace, name)
	for range s.hosts.remove(func(k string) bool { return k == key }) {
		s.options.Log.Info("host removed", "host", key)
	}
	s.metrics.count(s.hosts.current())
}

// Registry returns the registry of the server's metrics, to which callers can add metrics.
func (s *Server) Registry() *prometheus.Registry { return s.metrics.registry }

// offerKey returns the key of an offered host. Names of hosts of the directory have no slash.
func offerKey(namespace, name string) string { return namespace + "/" + name }

// offered reports whether a key is that of an offered host.
func offered(key string) bool { return strings.Contains(key, "/") }

// digest returns the digest of an offer and of the common content of images.
func (s *Server) digest(o Offer) digest {
	sum := sha256.New()
	add(sum, s.content[:], []byte(o.Namespace), []byte(o.Name), o.Document)
	for _, v := range o.Version {
		add(sum, []byte(v))
	}
	return digest(sum.Sum(nil))
}

// derive returns 128 bits for a URL that only servers with the key can compute.
func (s *Server) derive(of digest) string {
	sum := hmac.New(sha256.New, []byte(s.options.URLKey))
	add(sum, of[:])
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// add adds values to a hash, with an unambiguous encoding of lists.
func add(sum hash.Hash, values ...[]byte) {
	for _, v := range values {
		// Writing to a hash never fails.
		_ = binary.Write(sum, binary.BigEndian, uint64(len(v)))
		_, _ = sum.Write(v)
	}
}

// identify computes the digest of the base images, so that the content of a URL never changes, also after a restart.
func (s *Server) identify() error {
	if s.options.URLKey == "" {
		return nil
	}
	base, err := json.Marshal(s.options.Base)
	if err != nil {
		return fmt.Errorf("identify base configuration: %w", err)
	}
	sum := sha256.New()
	add(sum, base, fmt.Append(nil, s.options.EarlyNetwork))
	for _, f := range s.formats {
		image, err := digestOf(io.NewSectionReader(f.base, 0, f.size))
		if err != nil {
			return fmt.Errorf("identify base image: %w", err)
		}
		add(sum, []byte(f.extension), image[:])
	}
	s.content = digest(sum.Sum(nil))
	return nil
}

// digestOf returns the digest of a reader's content.
func digestOf(r io.Reader) (digest, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, r)
	return digest(sum.Sum(nil)), err
}
