package hostapply

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// stage is how far a change is. It is on disk before the first thing of the stage is done.
type stage string

const (
	// applying: a snapshot is taken, and nothing, some or all of the change is made. What follows a death is Restore.
	applying stage = "applying"
	// committing: the change is verified, and the way back is being given up. What follows a death is Commit.
	committing stage = "committing"
	// restoring: the change failed. What follows a death is Restore.
	restoring stage = "restoring"
)

// entry is the journal: the one change that is under way. There is a file exactly while there is such a change.
type entry struct {
	Stage    stage     `json:"stage"`
	Source   Source    `json:"source"`
	Content  []byte    `json:"content"`  // of the file
	Document []byte    `json:"document"` // as resolved, in NMState's YAML
	Snapshot Snapshot  `json:"snapshot"`
	Before   []Target  `json:"before"` // what answered before the change
	Started  time.Time `json:"started"`
	Reason   string    `json:"reason,omitempty"` // of restoring
	// Request is what asked for the change; nil at boot.
	Request *Request `json:"request,omitempty"`
	// Rejected is a document in whose place this one is applied.
	Rejected *rejected `json:"rejected,omitempty"`
}

// Source says where a document came from.
type Source struct {
	// File is the file's name in the directory of documents, empty in automatic mode.
	File string `json:"file,omitempty"`
	// Why is the sentence that says why this file.
	Why string `json:"why"`
	// SHA256 is of the file's content, or of the document that automatic mode made, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Automatic documents are recreated at each boot.
	Automatic bool `json:"automatic,omitempty"`
}

// state is what is remembered when no change is under way.
type state struct {
	// Applied is the last change that was committed, unless it was found not to work later.
	Applied *applied `json:"applied,omitempty"`
	// Interrupted counts how often in a row the process died while it applied the source of this hash.
	Interrupted int    `json:"interrupted,omitempty"`
	Suspect     string `json:"suspect,omitempty"`
	// Rejected is the document that was rolled back after the last request, until another one is applied.
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

// open returns the change under way, or nil.
func (e *Engine) open() (*entry, error) {
	var j entry
	found, err := readJSON(e.journalPath(), &j)
	if err != nil || !found {
		return nil, err
	}
	return &j, nil
}

// closeJournal says that no change is under way.
func (e *Engine) closeJournal() error {
	e.step("close journal")
	if err := removeFile(e.journalPath()); err != nil {
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

// change is what a backend is asked for with a resolved document.
func (e *Engine) change(source Source, resolved []byte) (Change, error) {
	doc, problems := nmstate.Parse(source.File, resolved)
	if err := problems.Err(); err != nil {
		return Change{}, fmt.Errorf("read resolved document: %w", err)
	}
	return Change{Document: doc, Volatile: source.Automatic, Deadline: e.Now().Add(e.Limits.total())}, nil
}
