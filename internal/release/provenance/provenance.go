// Package provenance writes the record of how a release was built: an in-toto statement with the predicate "SLSA provenance",
// version 1. The statement is not signed: a signature is an envelope around it, made with a key that is the releaser's.
package provenance

import (
	"encoding/json"
	"slices"
	"strings"
)

// The types of the statement, of its predicate, and of the build.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://slsa.dev/provenance/v1"
	BuildType     = "https://github.com/cluster-network-operator/cno/blob/main/docs/releases.md"
)

// Statement records how files were built.
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Predicate  `json:"predicate"`
}

// Resource is a file, or an input of a build. URI is empty for a file of the release, Name for an input.
type Resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// Predicate is the provenance.
type Predicate struct {
	BuildDefinition BuildDefinition `json:"buildDefinition"`
	RunDetails      RunDetails      `json:"runDetails"`
}

// BuildDefinition is all that determines the result.
type BuildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	ResolvedDependencies []Resource        `json:"resolvedDependencies"`
}

// RunDetails is where it was built. There is no time: the same inputs give the same record.
type RunDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

// Build is a run of the build.
type Build struct {
	// Version is that of the release, Source the repository, Commit the commit that was built.
	Version, Source, Commit string
	// Go is the Go release, for example go1.26.8.
	Go string
	// Inputs are other inputs: Debian packages and Go modules, by package URL and digest.
	Inputs []Resource
	// Files are the SHA-256 sums of the files of the release in hexadecimal, by name.
	Files map[string]string
}

// New returns the statement of a build, with files and inputs in the order of their names.
func New(b Build) Statement {
	s := Statement{Type: StatementType, PredicateType: PredicateType}
	for name, sum := range b.Files {
		s.Subject = append(s.Subject, Resource{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	slices.SortFunc(s.Subject, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	inputs := slices.Clone(b.Inputs)
	slices.SortFunc(inputs, func(a, b Resource) int { return strings.Compare(a.URI, b.URI) })
	inputs = slices.CompactFunc(inputs, func(a, b Resource) bool { return a.URI == b.URI })
	s.Predicate.BuildDefinition = BuildDefinition{
		BuildType:          BuildType,
		ExternalParameters: map[string]string{"version": b.Version},
		ResolvedDependencies: append([]Resource{
			{URI: "git+" + b.Source, Digest: map[string]string{"gitCommit": b.Commit}},
			{URI: "pkg:golang/toolchain@" + b.Go},
		}, inputs...),
	}
	s.Predicate.RunDetails.Builder.ID = BuildType + "#builder"
	return s
}

// JSON is the statement as a file.
func (s Statement) JSON() ([]byte, error) {
	content, err := json.MarshalIndent(s, "", "  ")
	return append(content, '\n'), err
}
