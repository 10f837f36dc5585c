// Package version has the version of the binaries of this module. Release builds set it at link time:
//
//	go build -ldflags "-X github.com/cluster-network-operator/cno/internal/version.linked=v1.2.3"
package version

// Default is the version of a build without a linked version.
const Default = "v0.1.0"

// linked is set by the linker, and nowhere else.
var linked string

// String returns the version, with the leading v, as it appears in image tags and in release annotations.
func String() string {
	if linked != "" {
		return linked
	}
	return Default
}
