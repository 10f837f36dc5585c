package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/host/nsid"
)

const (
	// sweepInterval is the time between two sweeps; the first invocation after a restart of the node sweeps at once.
	sweepInterval = 5 * time.Minute
	// sweepTimeout bounds the sweep of one invocation, since a pod waits for it.
	sweepTimeout = 2 * time.Second
)

// sweep removes attachments whose network namespace no longer exists, for example after a power failure, since not all runtimes call GC. One process
// at a time sweeps, and continues where an earlier sweep timed out. A later invocation retries after an error.
func (c *call) sweep(ctx context.Context) {
	marker := filepath.Join(c.Run, "swept")
	if info, err := os.Stat(marker); err == nil && c.Now().Sub(info.ModTime()) < sweepInterval {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	tryCtx, stop := context.WithTimeout(ctx, lockRetryInterval/2)
	defer stop()
	unlock, err := c.flock(tryCtx, "sweep")
	if err != nil {
		return
	}
	defer unlock()
	err = c.sweepAll(ctx)
	if ctx.Err() != nil {
		return // the next invocation continues
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "multus-shim: attachments of an earlier sandbox are not removed; a later invocation retries:", err)
	}
	_ = os.WriteFile(marker, nil, 0o600) // without the marker the next invocation sweeps again
}

// sweepAll removes records and results whose network namespaces no longer exist.
func (c *call) sweepAll(ctx context.Context) error {
	containers, err := c.containers()
	errs := []error{err}
	for _, container := range containers {
		errs = append(errs, c.sweepRecord(ctx, container))
	}
	errs = append(errs, c.sweepNotes(ctx))
	attachments, err := c.cni.GetCachedAttachments("")
	errs = append(errs, err)
	for _, a := range attachments {
		// sweepRecord handles sandboxes with a record.
		if !slices.Contains(containers, a.ContainerID) {
			errs = append(errs, c.sweepResult(ctx, a))
		}
	}
	return errors.Join(errs...)
}

func (c *call) sweepRecord(ctx context.Context, container string) error {
	unlock, err := c.lock(ctx, container)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := c.loadRecord(container)
	if err != nil || r == nil {
		return err
	}
	id, err := nsid.Of(r.NetNS)
	if err == nil && (id == r.NetNSID || r.NetNSID == "") {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.NetNS = "" // another sandbox may have the path
	return c.undo(ctx, *r)
}

// sweepNotes removes the files of markComplete without a record: earlier versions remove only the record.
func (c *call) sweepNotes(ctx context.Context) error {
	names, err := c.withSuffix(completeSuffix)
	errs := []error{err}
	for _, container := range names {
		if exists(c.file(container)) {
			continue
		}
		unlock, err := c.lock(ctx, container)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !exists(c.file(container)) { // no ADD has started in the meantime
			errs = append(errs, c.removeRecord(container))
		}
		unlock()
	}
	return errors.Join(errs...)
}

// sweepResult removes a sandbox that had only its default network.
func (c *call) sweepResult(ctx context.Context, a *libcni.NetworkAttachment) error {
	if ctx.Err() != nil {
		return nil
	}
	if _, err := os.Stat(a.NetNS); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	list, err := parseList(a.Config)
	if err != nil {
		return err
	}
	return c.cni.DelNetworkList(ctx, list, &libcni.RuntimeConf{
		ContainerID: a.ContainerID, IfName: a.IfName, Args: a.CniArgs, CapabilityArgs: a.CapabilityArgs,
	})
}

// collect implements GC: it removes the sandboxes that the runtime does not list as valid.
func (c *call) collect(ctx context.Context) error {
	var read struct {
		Valid []types.GCAttachment `json:"cni.dev/valid-attachments"`
	}
	if err := json.Unmarshal(c.request.Config, &read); err != nil {
		return cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	containers, err := c.containers()
	errs := []error{err}
	for _, container := range containers {
		if !slices.ContainsFunc(read.Valid, func(a types.GCAttachment) bool { return a.ContainerID == container }) {
			errs = append(errs, c.collectRecord(ctx, container))
		}
	}
	// libcni uses the cached lists for attachments that are not valid; the plugins of this list get the valid ones.
	errs = append(errs, c.cni.GCNetworkList(ctx, c.own, &libcni.GCArgs{ValidAttachments: read.Valid}))
	return errors.Join(errs...)
}

func (c *call) collectRecord(ctx context.Context, container string) error {
	unlock, err := c.lock(ctx, container)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := c.loadRecord(container)
	if err != nil || r == nil {
		return err
	}
	return c.undo(ctx, *r)
}
