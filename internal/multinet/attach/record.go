package attach

import (
	"context"
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
	"syscall"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/host/durable"
)

// record has all plugin invocations of a sandbox. It is written before the first plugin runs.
type record struct {
	ContainerID string `json:"containerID"`
	NetNS       string `json:"netns"`
	// NetNSID identifies the namespace at NetNS, since paths are reused.
	NetNSID string      `json:"netnsID"`
	Args    [][2]string `json:"args,omitempty"`
	// Networks are the default network and the further ones, in the order in which they are attached.
	Networks []network `json:"networks"`
	// Complete is true after a successful ADD, in records of earlier versions. Later versions have a separate file; see markComplete.
	Complete bool `json:"complete,omitempty"`
	// Policies is true if the rules of MultiNetworkPolicies were written.
	Policies bool `json:"policies,omitempty"`
	// MissingSince is when a DEL first failed because plugins are missing on the node.
	MissingSince *time.Time `json:"missingSince,omitempty"`
}

// network is an attachment with the exact configuration that its plugins get.
type network struct {
	// Name is namespace/name of the definition; for the default network, the name of the network.
	Name      string          `json:"name"`
	Interface string          `json:"interface"`
	Default   bool            `json:"default,omitempty"`
	List      json.RawMessage `json:"list"`
	Runtime   map[string]any  `json:"runtime,omitempty"`
	// Rerouted is true if the network has other default routes than those of its plugins: Routes are then all routes that it has. Records of earlier
	// versions do not have them.
	Rerouted bool           `json:"rerouted,omitempty"`
	Routes   []*types.Route `json:"routes,omitempty"`
}

// recordFormat is the current format version.
const recordFormat = 1

// recordFile is the content of a record's file: the record with its checksum.
type recordFile struct {
	Format int             `json:"format"`
	SHA256 string          `json:"sha256"`
	Record json.RawMessage `json:"record"`
}

const (
	suffix         = ".json"
	damagedSuffix  = ".damaged"
	completeSuffix = ".complete"
)

// errDamaged is the error of a record that cannot be read.
var errDamaged = errors.New("the record of the sandbox is damaged")

func (s Shim) sandboxes() string { return filepath.Join(s.State, "sandboxes") }

func (s Shim) file(container string) string { return s.sandbox(container, suffix) }

func (s Shim) sandbox(container, ending string) string {
	return filepath.Join(s.sandboxes(), container+ending)
}

func (s Shim) write(r record) error {
	if err := os.MkdirAll(s.sandboxes(), 0o700); err != nil {
		return fmt.Errorf("create directory of records: %w", err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	sum := sha256.Sum256(raw)
	whole, err := json.Marshal(recordFile{recordFormat, hex.EncodeToString(sum[:]), raw})
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	return durable.WriteFile(s.file(r.ContainerID), append(whole, '\n'), 0o600)
}

// read returns the record of a sandbox, nil if there is none.
func (s Shim) read(container string) (*record, error) {
	raw, err := os.ReadFile(s.file(container))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	var whole recordFile
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if whole.Format != recordFormat {
		return nil, fmt.Errorf("the record %s has format %d, expected %d", s.file(container), whole.Format, recordFormat)
	}
	if sum := sha256.Sum256(whole.Record); hex.EncodeToString(sum[:]) != whole.SHA256 {
		return nil, fmt.Errorf("%w: its checksum does not match", errDamaged)
	}
	var r record
	if err := json.Unmarshal(whole.Record, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return &r, nil
}

// loadRecord returns the record of a sandbox; nil if there is none. A damaged record is renamed, and rebuilt from the cache of libcni.
func (c *call) loadRecord(container string) (*record, error) {
	r, err := c.read(container)
	if !errors.Is(err, errDamaged) {
		return r, err
	}
	if err := os.Rename(c.file(container), c.file(container)+damagedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("rename the damaged record: %w", err)
	}
	attachments, err := c.cni.GetCachedAttachments(container)
	if err != nil || len(attachments) == 0 {
		return nil, err
	}
	r = &record{ContainerID: container, NetNS: attachments[0].NetNS, Args: attachments[0].CniArgs}
	// The default network, whose interface the runtime names, is the first; the order of the others is lost.
	isDefault := func(a *libcni.NetworkAttachment) bool { return a.IfName == c.request.IfName }
	slices.SortStableFunc(attachments, func(a, b *libcni.NetworkAttachment) int {
		switch {
		case isDefault(a) == isDefault(b):
			return strings.Compare(a.IfName, b.IfName)
		case isDefault(a):
			return -1
		}
		return 1
	})
	for _, a := range attachments {
		r.Networks = append(r.Networks, network{Name: a.Network, Interface: a.IfName, Default: isDefault(a), List: a.Config, Runtime: a.CapabilityArgs})
	}
	return r, c.write(*r)
}

// Damaged returns the files of damaged records, which were renamed and are kept for inspection, in the shim's directory.
func Damaged(state string) ([]string, error) {
	files, err := filepath.Glob(Shim{State: state}.sandbox("*", suffix+damagedSuffix))
	if err != nil {
		return nil, fmt.Errorf("list damaged records: %w", err)
	}
	return files, nil
}

// markComplete records that the ADD of a record has succeeded, in a separate file that is not synced, because no sandbox survives a power failure.
func (s Shim) markComplete(r record) error {
	if slices.ContainsFunc(r.Networks, func(n network) bool { return n.Rerouted }) {
		if err := s.write(r); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(s.sandbox(r.ContainerID, completeSuffix), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("note that the sandbox is complete: %w", err)
	}
	return f.Close()
}

// isComplete reports whether the ADD of a record has succeeded.
func (s Shim) isComplete(r record) bool {
	return r.Complete || exists(s.sandbox(r.ContainerID, completeSuffix))
}

func (s Shim) removeRecord(container string) error {
	if err := os.Remove(s.sandbox(container, completeSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(s.file(container)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// containers returns the container IDs of the sandboxes that have a record.
func (s Shim) containers() ([]string, error) { return s.withSuffix(suffix) }

// withSuffix returns the container IDs of the sandboxes that have a file with a suffix.
func (s Shim) withSuffix(ending string) ([]string, error) {
	entries, err := os.ReadDir(s.sandboxes())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ending); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// lockRetryInterval is the time between two attempts to get a lock that another process holds.
const lockRetryInterval = 20 * time.Millisecond

// lock lets one process at a time work on a sandbox. Locks are files of a directory that is empty after a restart of the node. Their number is
// bounded, so two sandboxes may share a lock.
func (s Shim) lock(ctx context.Context, container string) (unlock func(), err error) {
	sum := sha256.Sum256([]byte(container))
	return s.flock(ctx, hex.EncodeToString(sum[:])[:3])
}

func (s Shim) flock(ctx context.Context, name string) (unlock func(), err error) {
	dir := filepath.Join(s.Run, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create directory of locks: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(cniproto.Errorf(cniproto.CodeTryAgain, "another process works on the sandbox"), f.Close())
		case <-time.After(lockRetryInterval):
		}
	}
}
