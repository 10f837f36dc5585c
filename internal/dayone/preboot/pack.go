package preboot

import (
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_2/types"

	"github.com/cluster-network-operator/cno/internal/dayone/bootimage"
	"github.com/cluster-network-operator/cno/internal/dayone/ignition"
	"github.com/cluster-network-operator/cno/internal/dayone/linkfile"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

const (
	// ProfileDir is the directory of NetworkManager's profiles in the initial file system. The CoreOS installer copies its content to the disk with
	// the option --copy-network.
	ProfileDir = "/etc/NetworkManager/system-connections"
	// profileMode is the only mode of profiles that NetworkManager accepts.
	profileMode = 0o600
	// linkMode is the mode of files without secrets.
	linkMode = 0o644
)

// Files are the files of a document in a boot image.
type Files struct {
	// Document is nil exactly if the document has errors.
	Document *nmstate.Document
	Profiles []nmconn.File
	// Links are the files for udev with alternative names of cards.
	Links []linkfile.File
}

// Render returns the files of a document before the boot, and all of its problems. There are profiles exactly if no problem is an error; an empty document has
// none, so that all interfaces use DHCP.
func Render(name string, data []byte) (Files, nmstate.Problems) {
	doc, problems := read(name, data)
	if doc == nil {
		return Files{}, problems
	}
	checked := Check(doc)
	profiles, rendered := nmconn.Profiles(doc)
	if checked.HasErrors() {
		// Warnings about files that are not rendered are of no interest.
		rendered = rendered.Errors()
	}
	problems = append(append(problems, checked...), withoutRepeated(rendered, checked)...)
	if problems.HasErrors() {
		return Files{}, problems.Sorted()
	}
	return Files{Document: doc, Profiles: profiles, Links: linkfile.Files(doc)}, problems.Sorted()
}

// withoutRepeated omits problems of values for which, or for whose parents, there is an earlier problem, and those of interfaces whose type is refused.
func withoutRepeated(problems, earlier nmstate.Problems) nmstate.Problems {
	return slices.DeleteFunc(slices.Clone(problems), func(p nmstate.Problem) bool {
		return slices.ContainsFunc(earlier, func(s nmstate.Problem) bool {
			parent := strings.TrimSuffix(s.Path, ".type")
			return p.Path == parent || strings.HasPrefix(p.Path, parent+".")
		})
	})
}

// Config returns the Ignition configuration that writes the files to the initial file system, merged into a base configuration, which may be nil. Files of the
// document replace files of the base with the same path.
func Config(files Files, base *types.Config) types.Config {
	var out []ignition.File
	for _, f := range files.Profiles {
		out = append(out, ignition.File{Path: path.Join(ProfileDir, f.Name), Mode: profileMode, Content: []byte(f.Content)})
	}
	for _, f := range files.Links {
		out = append(out, ignition.File{Path: path.Join(linkfile.Dir, f.Name), Mode: linkMode, Content: []byte(f.Content)})
	}
	config := ignition.Config(out)
	if base != nil {
		config = ignition.Merge(*base, config)
	}
	return config
}

// EarlyFiles returns the same profiles for the network that a CoreOS initial file system configures before Ignition runs, to download the root file system in
// a network boot.
func EarlyFiles(files Files) []bootimage.File {
	var out []bootimage.File
	for _, f := range files.Profiles {
		out = append(out, bootimage.File{Name: path.Join(bootimage.NetworkDir, f.Name), Mode: profileMode, Content: []byte(f.Content)})
	}
	return out
}
