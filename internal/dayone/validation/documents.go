package validation

import (
	"maps"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// Documents holds files that were read and checked. A validation that is given those of an earlier one reads no file again that is the
// same. The zero value is empty; it is not for concurrent use.
type Documents struct {
	checked map[checkedFile]checkedDocument
}

// checkedFile is all that the result of reading and checking a file depends on.
type checkedFile struct {
	name, content string
	withoutBridge bool
}

type checkedDocument struct {
	doc      *nmstate.Document
	problems nmstate.Problems
}

// Add adds what other documents hold, which may be nil.
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

// check reads and checks a file, or returns what was found before. The document is nil if it cannot be read, or finds things out on the host.
// Neither the document nor the problems may be changed.
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
