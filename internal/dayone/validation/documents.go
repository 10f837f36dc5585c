package validation

import (
	"maps"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// Documents caches files that were parsed and checked, so that a later validation does not process unchanged files again. The zero value is empty. It is not
// safe for concurrent use.
type Documents struct {
	checked map[checkedFile]checkedDocument
}

// checkedFile is the cache key: all inputs of parsing and checking a file.
type checkedFile struct {
	name, content string
	withoutBridge bool
}

type checkedDocument struct {
	doc      *nmstate.Document
	problems nmstate.Problems
}

// Add adds the content of other documents, which may be nil.
func (d *Documents) Add(other *Documents) {
	if other == nil {
		return
	}
	d.init()
	maps.Copy(d.checked, other.checked)
}

func (d *Documents) init() {
	if d.checked == nil {
		d.checked = map[checkedFile]checkedDocument{}
	}
}

// check parses and checks a file, or returns the cached result. The document is nil if it is invalid or has captures. Callers must not modify the results.
func (d *Documents) check(file placement.File, withoutBridge bool) (*nmstate.Document, nmstate.Problems) {
	key := checkedFile{name: file.Name, content: string(file.Content), withoutBridge: withoutBridge}
	known, ok := d.checked[key]
	if !ok {
		known.doc, known.problems = read(file, withoutBridge)
		if known.doc != nil {
			known.problems = append(known.problems, CheckDocument(known.doc, withoutBridge)...)
		}
		d.init()
		d.checked[key] = known
	}
	return known.doc, known.problems
}
