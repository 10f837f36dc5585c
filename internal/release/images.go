package release

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/cluster-network-operator/cno/internal/version"
)

// DefaultPrefix is the prefix of images that are in no registry.
const DefaultPrefix = "localhost/cno"

// Set is where the images of a version are.
type Set struct {
	// Prefix is a registry and a path in it, without a slash at its end. It may not be empty.
	Prefix string
	// Version is the tag of images whose digest is not known.
	Version string
	// Digests are those of the images by name, as sha256:HEX. A missing one is not known: a build that is not a release.
	Digests map[string]string
}

// digestsLinked is set by the linker for programs of a release, and nowhere else: NAME=sha256:HEX, separated by commas.
var digestsLinked string

// Linked returns the images that this program was released with, below a prefix. In a build that is not a release they have
// tags in place of digests.
func Linked(prefix string) (Set, error) {
	digests, err := ParseDigests(digestsLinked)
	if err != nil {
		return Set{}, fmt.Errorf("read the digests of this build: %w", err)
	}
	return Set{Prefix: prefix, Version: version.String(), Digests: digests}, CheckPrefix(prefix)
}

// LinkerValue is the value of the variable that Linked reads, and its full name.
func LinkerValue(digests map[string]string) (variable, value string) {
	var parts []string
	for name, digest := range digests {
		parts = append(parts, name+"="+digest)
	}
	slices.Sort(parts)
	return "github.com/cluster-network-operator/cno/internal/release.digestsLinked", strings.Join(parts, ",")
}

// digest is the form of a digest.
var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// ParseDigests reads NAME=sha256:HEX, separated by commas.
func ParseDigests(text string) (map[string]string, error) {
	out := map[string]string{}
	if text == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" || !digest.MatchString(value) {
			return nil, fmt.Errorf("%q is not NAME=sha256:HEX", part)
		}
		out[name] = value
	}
	return out, nil
}

// CheckPrefix returns an error unless images can be below the prefix.
func CheckPrefix(prefix string) error {
	refused := func(err error) error {
		return fmt.Errorf("%q is not a registry with a path, for example registry.example/cno: %w", prefix, err)
	}
	if strings.ContainsAny(prefix, "@") || strings.HasSuffix(prefix, "/") || strings.Contains(prefix, "://") {
		return refused(errors.New("write it without https://, a digest, or a slash at the end"))
	}
	if _, err := name.NewRepository(prefix+"/image", name.StrictValidation); err != nil {
		return refused(err)
	}
	return nil
}

// Reference returns the reference of an image: by digest if that is known, else by tag.
func (s Set) Reference(image string) string {
	if d, ok := s.Digests[image]; ok {
		return s.Prefix + "/" + image + "@" + d
	}
	return s.Prefix + "/" + image + ":" + s.Version
}
