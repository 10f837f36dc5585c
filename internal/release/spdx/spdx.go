// Package spdx writes software bills of materials as SPDX 2.3 documents in JSON: what a program or an image contains, by the
// record that the Go linker keeps in each program and by the control files of Debian packages.
package spdx

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Document is an SPDX document. New makes it, and Add and AddTo complete it.
type Document struct {
	Version           string         `json:"spdxVersion"`
	License           string         `json:"dataLicense"`
	ID                string         `json:"SPDXID"`
	Name              string         `json:"name"`
	Namespace         string         `json:"documentNamespace"`
	CreationInfo      CreationInfo   `json:"creationInfo"`
	Packages          []Package      `json:"packages"`
	Relationships     []Relationship `json:"relationships"`
	DocumentDescribes []string       `json:"documentDescribes"`
}

// CreationInfo is when and by what a document was made.
type CreationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// Package is a part: a program, a module, a Debian package, an image.
type Package struct {
	ID               string        `json:"SPDXID"`
	Name             string        `json:"name"`
	Version          string        `json:"versionInfo,omitempty"`
	Supplier         string        `json:"supplier,omitempty"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	Homepage         string        `json:"homepage,omitempty"`
	SourceInfo       string        `json:"sourceInfo,omitempty"`
	LicenseConcluded string        `json:"licenseConcluded"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	Copyright        string        `json:"copyrightText"`
	Purpose          string        `json:"primaryPackagePurpose,omitempty"`
	Checksums        []Checksum    `json:"checksums,omitempty"`
	ExternalRefs     []ExternalRef `json:"externalRefs,omitempty"`
}

// Checksum is the sum of a package's file.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// ExternalRef is a name of a package elsewhere. Here it is always a package URL.
type ExternalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// Relationship is that of two elements of a document.
type Relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const (
	documentID  = "SPDXRef-DOCUMENT"
	noAssertion = "NOASSERTION"
)

// New returns a document about one thing. The namespace is a URI that no other document has, created the time of the sources, so
// that the same sources give the same document.
func New(subject Package, namespace string, created time.Time) *Document {
	d := &Document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: documentID, Name: subject.Name, Namespace: namespace,
		CreationInfo: CreationInfo{Created: created.UTC().Format(time.RFC3339), Creators: []string{"Tool: cno-release"}},
	}
	id := d.add(subject)
	d.DocumentDescribes = []string{id}
	d.relate(documentID, "DESCRIBES", id)
	return d
}

// Subject is the identifier of what the document is about.
func (d *Document) Subject() string { return d.DocumentDescribes[0] }

// Add adds a part of the element with an identifier, and returns the identifier of the part. A part that the document has
// already is not added again.
func (d *Document) Add(of string, p Package) string {
	id := d.add(p)
	d.relate(of, "CONTAINS", id)
	return id
}

// AddProgram adds a Go program with the modules that are linked into it, and the Go release that it was built with.
func (d *Document) AddProgram(of string, program Package, build *debug.BuildInfo) {
	d.addModules(d.Add(of, program), build)
}

// AddModules adds the modules that are linked into the program that the document is about.
func (d *Document) AddModules(build *debug.BuildInfo) { d.addModules(d.Subject(), build) }

func (d *Document) addModules(program string, build *debug.BuildInfo) {
	modules := []Package{Module("stdlib", strings.TrimPrefix(build.GoVersion, "go"))}
	if build.Main.Path != "" {
		modules = append(modules, Module(build.Main.Path, build.Main.Version))
	}
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, Module(m.Path, m.Version))
	}
	for _, m := range modules {
		d.relate(program, "STATIC_LINK", d.add(m))
	}
}

// Module is a Go module. The standard library has the path stdlib.
func Module(path, version string) Package {
	return Package{Name: path, Version: version, Purpose: "LIBRARY", ExternalRefs: []ExternalRef{packageURL(fmt.Sprintf("pkg:golang/%s@%s", path, version))}}
}

// Debian is a Debian package of a release such as bookworm, with the sum of its file.
func Debian(name, version, arch, release, sha256 string) Package {
	locator := fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=%s", name, url.QueryEscape(version), arch, release)
	return Package{
		Name: name, Version: version, Purpose: "LIBRARY", Supplier: "Organization: Debian",
		Checksums: []Checksum{{"SHA256", sha256}}, ExternalRefs: []ExternalRef{packageURL(locator)},
	}
}

// Image is a container image, named by the digest of its index.
func Image(name, version, digest string) Package {
	return Package{
		Name: name, Version: version, Purpose: "CONTAINER", Checksums: []Checksum{{"SHA256", strings.TrimPrefix(digest, "sha256:")}},
		ExternalRefs: []ExternalRef{packageURL("pkg:oci/" + name + "@" + url.QueryEscape(digest))},
	}
}

// Program is a file with a program.
func Program(name, version, sha256 string) Package {
	return Package{Name: name, Version: version, Purpose: "APPLICATION", Checksums: []Checksum{{"SHA256", sha256}}}
}

func packageURL(locator string) ExternalRef { return ExternalRef{"PACKAGE-MANAGER", "purl", locator} }

// notInID are the characters that identifiers may not have.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

func (d *Document) add(p Package) string {
	key := p.Name + "-" + p.Version
	if len(p.Checksums) > 0 {
		key += "-" + p.Checksums[0].Value[:min(12, len(p.Checksums[0].Value))]
	}
	p.ID = "SPDXRef-" + notInID.ReplaceAllString(key, "-")
	if slices.ContainsFunc(d.Packages, func(other Package) bool { return other.ID == p.ID }) {
		return p.ID
	}
	p.DownloadLocation, p.LicenseConcluded, p.LicenseDeclared, p.Copyright = noAssertion, noAssertion, noAssertion, noAssertion
	d.Packages = append(d.Packages, p)
	return p.ID
}

func (d *Document) relate(element, kind, related string) {
	r := Relationship{element, kind, related}
	if !slices.Contains(d.Relationships, r) {
		d.Relationships = append(d.Relationships, r)
	}
}

// JSON is the document as a file.
func (d *Document) JSON() ([]byte, error) {
	content, err := json.MarshalIndent(d, "", "  ")
	return append(content, '\n'), err
}
