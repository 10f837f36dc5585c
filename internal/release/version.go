// Package release describes a release: its version, its images, and the manifests that install the operator with exactly
// these images. The digests of the images are linked into the binaries of a release, so that cno installs its own release.
package release

import (
	"fmt"
	"regexp"
)

// versions matches a version without build metadata, which tags of images cannot have.
var versions = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// CheckVersion returns an error unless a release can have the version.
func CheckVersion(version string) error {
	if len(version) > 64 || !versions.MatchString(version) {
		return fmt.Errorf("VERSION %q is not a version: write it as vMAJOR.MINOR.PATCH, for example v0.2.0 or v0.2.0-rc.1", version)
	}
	return nil
}
