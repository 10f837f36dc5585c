package dhcp

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"crypto/sha256"
	"encoding/hex"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// Record is a lease and its attachment, as stored on disk.
type Record struct {
	// Format is the format version of the file.
	Format int            `json:"format"`
	Call   cniserver.Call `json:"call"`
	MAC    string         `json:"mac"`
	Lease  Lease          `json:"lease"`
	// Lost is set while the pod must not use the address.
	Lost *Loss `json:"lost,omitempty"`
}

// Loss describes a lease that ended before its pod.
type Loss struct {
	Since time.Time `json:"since"`
	// Routes are the interface's routes that were removed with the address.
	Routes []LinkRoute `json:"routes,omitempty"`
}

// recordFormat is the current format version.
const recordFormat = 1

// port returns the interface of the lease.
func (r Record) port() Port {
	mac, _ := net.ParseMAC(r.MAC) // an invalid text matches no interface
	return Port{NetNS: r.Call.NetNS, Name: r.Call.IfName, MAC: mac}
}

func key(c cniserver.Call) string { return c.ContainerID + "/" + c.IfName }

// store has a file for each lease in a directory.
type store struct{ dir string }

// The suffixes of the files of records, and of records that cannot be read.
const (
	suffix  = ".json"
	damaged = ".damaged"
)

// open creates the directory, and removes temporary files of a crashed process.
func (s store) open() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("create directory of leases: %w", err)
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return fmt.Errorf("protect directory of leases: %w", err)
	}
	return durable.Clean(filepath.Join(s.dir, "*"))
}

func (s store) file(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+suffix)
}

func (s store) put(r Record) error {
	r.Format = recordFormat
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("create directory of leases: %w", err)
	}
	return agent.SaveState(s.file(key(r.Call)), r)
}

// get returns the record of an attachment, and whether it exists. A damaged file is an error.
func (s store) get(key string) (Record, bool, error) { return s.read(s.file(key)) }

func (s store) read(file string) (Record, bool, error) {
	r, found, err := agent.LoadState[Record](file)
	if err == nil && found && r.Format != recordFormat {
		return Record{}, false, fmt.Errorf("lease %s has format %d, expected %d", file, r.Format, recordFormat)
	}
	return r, found, err
}

func (s store) remove(key string) error {
	if err := os.Remove(s.file(key)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// all returns all records. It renames files that cannot be read, and returns their errors together with the other records.
func (s store) all() (records []Record, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		file := filepath.Join(s.dir, e.Name())
		r, found, err := s.read(file)
		if err != nil {
			errs = append(errs, err, os.Rename(file, file+damaged))
		}
		if found && err == nil {
			records = append(records, r)
		}
	}
	return records, errors.Join(errs...)
}
