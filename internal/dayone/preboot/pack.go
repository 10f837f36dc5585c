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
	// ProfileDir is where NetworkManager of the initial system reads profiles. The installer of CoreOS copies what is in
	// it onto the disk, if it is told to copy the network.
	ProfileDir = "/etc/NetworkManager/system-connections"
	// profileMode is the only one with which NetworkManager reads a profile.
	profileMode = 0o600
	// linkMode is that of files without secrets.
	linkMode = 0o644
)

// Files are what a boot image contains for a document.
type Files struct {
	// Document is nil exactly if the document has errors.
	Document *nmstate.Document
	Profiles []nmconn.File
	// Links are for udev, which gives cards their alternative names.
	Links []linkfile.File
}

// Render returns the files for a document before the boot, and all of its errors. There are
// profiles exactly if no problem is an error; an empty document has none, which leaves every interface to DHCP.
func Render(name string, data []byte) (Files, nmstate.Problems) {
	doc, problems := read(name, data)
	if doc == nil {
		return Files{}, problems
	}
	mine := Check(doc)
	profiles, theirs := nmconn.Profiles(doc)
	if mine.HasErrors() {
		// How files would be written that are not is of no interest.
		theirs = theirs.Errors()
	}
	problems = append(append(problems, mine...), unsaid(theirs, mine)...)
	if problems.HasErrors() {
		return Files{}, problems.Sorted()
	}
	return Files{Document: doc, Profiles: profiles, Links: linkfile.Files(doc)}, problems.Sorted()
}

// unsaid leaves out what was said already about the same value, or the one around it. What is wrong with an interface whose
// type is refused does not matter any more.
func unsaid(problems, said nmstate.Problems) nmstate.Problems {
	return slices.DeleteFunc(slices.Clone(problems), func(p nmstate.Problem) bool {
		return slices.ContainsFunc(said, func(s nmstate.Problem) bool {
			around := strings.TrimSuffix(s.Path, ".type")
			return p.Path == around || strings.HasPrefix(p.Path, around+".")
		})
	})
}

// Config returns the Ignition configuration that puts the files into the initial system, on top of a base configuration;
// nil if there is none. Of two files with the same path that of the document wins.
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

// EarlyFiles are the same profiles where an initial file system of CoreOS looks for them, for a network that is needed
// even before Ignition has run: to fetch the root file system, when an initramfs is booted over the network.
func EarlyFiles(files Files) []bootimage.File {
	var out []bootimage.File
	for _, f := range files.Profiles {
		out = append(out, bootimage.File{Name: path.Join(bootimage.NetworkDir, f.Name), Mode: profileMode, Content: []byte(f.Content)})
	}
	return out
}
