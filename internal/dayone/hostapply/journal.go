package hostapply

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// stage is the stage of a change. It is written to disk before the first operation of the stage.
type stage string

const (
	// applying: a snapshot is taken, and the change may be partially applied. After a crash, Restore follows.
	applying stage = "applying"
	// committing: the change is verified. After a crash, Commit follows.
	committing stage = "committing"
	// restoring: the change failed. After a crash, Restore follows.
	restoring stage = "restoring"
)

// entry is the content of the journal: the change in progress. The file exists only during a change.
type entry struct {
	Stage    stage     `json:"stage"`
	Source   Source    `json:"source"`
	Content  []byte    `json:"content"`  // of the file
	Document []byte    `json:"document"` // as resolved, in NMState's YAML
	Snapshot Snapshot  `json:"snapshot"`
	Before   []Target  `json:"before"` // what answered before the change
	Started  time.Time `json:"started"`
	Reason   string    `json:"reason,omitempty"` // of restoring
	// Request is the request for the change; nil at boot.
	Request *Request `json:"request,omitempty"`
	// Rejected is a document in whose place this one is applied.
	Rejected *rejected `json:"rejected,omitempty"`
}

// Source is the source of a document.
type Source struct {
	// File is the file's name in the directory of documents; empty in automatic mode.
	File string `json:"file,omitempty"`
	// Why is the reason for the choice.
	Why string `json:"why"`
	// SHA256 is the digest of the file's content, or of the generated document in automatic mode, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Automatic is true for generated documents, which are generated again at each boot.
	Automatic bool `json:"automatic,omitempty"`
}

// state is the persistent state.
type state struct {
	// Applied is the last committed change, unless it failed later.
	Applied *applied `json:"applied,omitempty"`
	// Interrupted counts successive crashes during the application of the source with this hash.
	Interrupted int    `json:"interrupted,omitempty"`
	Suspect     string `json:"suspect,omitempty"`
	// Rejected is the document that was rolled back after the last request, until another document is applied.
	Rejected *rejected `json:"rejected,omitempty"`
}

type applied struct {
	Source   Source    `json:"source"`
	Document []byte    `json:"document"`
	Boot     string    `json:"boot"`
	Time     time.Time `json:"time"`
}

func (e *Engine) journalPath() string { return filepath.Join(e.Dir, "journal.json") }
func (e *Engine) statePath() string   { return filepath.Join(e.Dir, "state.json") }

// record writes the journal.
func (e *Engine) record(j entry) error {
	e.step("journal", "stage", j.Stage)
	if err := writeJSON(e.journalPath(), j); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// open returns the change in progress, or nil.
func (e *Engine) open() (*entry, error) {
	var j entry
	found, err := readJSON(e.journalPath(), &j)
	if err != nil || !found {
		return nil, err
	}
	return &j, nil
}

// closeJournal removes the journal.
func (e *Engine) closeJournal() error {
	e.step("close journal")
	if err := durable.Remove(e.journalPath()); err != nil {
		return fmt.Errorf("remove journal: %w", err)
	}
	return nil
}

func (e *Engine) load() (state, error) {
	var s state
	_, err := readJSON(e.statePath(), &s)
	return s, err
}

func (e *Engine) save(s state) error {
	e.step("write state")
	if err := writeJSON(e.statePath(), s); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// change returns the change for a resolved document.
func (e *Engine) change(source Source, resolved []byte) (Change, error) {
	doc, problems := nmstate.Parse(source.File, resolved)
	if err := problems.Err(); err != nil {
		return Change{}, fmt.Errorf("read resolved document: %w", err)
	}
	return Change{Document: doc, Volatile: source.Automatic, Deadline: e.Now().Add(e.Limits.total())}, nil
}
