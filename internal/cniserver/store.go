package cniserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// record is the stored state of an attachment.
type record struct {
	// Format is the format version of the file.
	Format int  `json:"format"`
	Call   Call `json:"call"`
	// Result is the result of Add; nil until it has succeeded.
	Result *current.Result `json:"result,omitempty"`
	// NetNSID identifies the namespace behind Call.NetNS, since paths are reused.
	NetNSID string `json:"netnsID"`
}

// recordFormat is the only format version.
const recordFormat = 1

// suffix is the suffix of record files, damaged that of unreadable ones.
const (
	suffix  = ".json"
	damaged = ".damaged"
)

// store stores a file for each attachment in a directory. Its methods may be called concurrently for different attachments.
type store struct{ dir string }

// open creates the directory, and removes incomplete files.
func (s store) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("create directory of attachments: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return fmt.Errorf("protect directory of attachments: %w", err)
	}
	return durable.Clean(filepath.Join(s.dir, "*"))
}

// file returns the path of an attachment's file. Its name is a hash, since the runtime chooses container IDs and interface names.
func (s store) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+suffix)
}

func (s store) put(r record) error {
	r.Format = recordFormat
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode attachment: %w", err)
	}
	return durable.WriteFile(s.file(r.Call.key()), append(raw, '\n'), 0o600)
}

// get returns the record of an attachment; nil if there is none.
func (s store) get(key string) (*record, error) {
	r, err := s.read(s.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return r, err
}

func (s store) read(file string) (*record, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("decode attachment %s: %w", file, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("attachment %s has format %d, expected %d", file, r.Format, recordFormat)
	}
	return &r, nil
}

func (s store) remove(key string) error {
	if err := os.Remove(s.file(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// all returns all records, sorted by file. It renames unreadable files, and returns an error for each in addition to the other records.
func (s store) all() ([]record, error) {
	records, unreadable, err := s.scan()
	errs := []error{err}
	for _, file := range unreadable {
		errs = append(errs, os.Rename(file, file+damaged))
	}
	return records, errors.Join(errs...)
}

// scan reads all records, and returns the unreadable files.
func (s store) scan() (records []record, unreadable []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list attachments: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		file := filepath.Join(s.dir, e.Name())
		r, err := s.read(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unreadable = append(unreadable, file)
			errs = append(errs, err)
		default:
			records = append(records, *r)
		}
	}
	return slices.Clip(records), unreadable, errors.Join(errs...)
}

// Recorded is an attachment with a record.
type Recorded struct {
	Call Call
	// Added is true if its ADD has succeeded.
	Added bool
}

// Records returns the recorded attachments in a server's directory, for readers outside of the server. It changes nothing. A missing directory has no records.
// The error names unreadable files.
func Records(dir string) ([]Recorded, error) {
	records, _, err := store{dir}.scan()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Recorded
	for _, r := range records {
		out = append(out, Recorded{r.Call, r.Result != nil})
	}
	return out, err
}
