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
	// sweepEvery is how often what belongs to no sandbox is looked for; the first call after a restart of the node does it at once.
	sweepEvery = 5 * time.Minute
	// sweepLimit is how long a call works on that, so that a pod does not wait for it.
	sweepLimit = 2 * time.Second
)

// sweep removes what belongs to no network namespace any more: after a power failure, or when a runtime has forgotten a DEL. Runtimes
// do not all call GC. One process at a time does it, and goes on where another's time was over; an error is tried again by a later call.
func (c *call) sweep(ctx context.Context) {
	marker := filepath.Join(c.Run, "swept")
	if info, err := os.Stat(marker); err == nil && c.Now().Sub(info.ModTime()) < sweepEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepLimit)
	defer cancel()
	trying, stop := context.WithTimeout(ctx, lockPause/2)
	defer stop()
	unlock, err := c.flock(trying, "sweep")
	if err != nil {
		return
	}
	defer unlock()
	err = c.sweepAll(ctx)
	if ctx.Err() != nil {
		return // what is left is removed by the next call
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "multus-shim: what an earlier sandbox has left is not removed; it is tried again later:", err)
	}
	_ = os.WriteFile(marker, nil, 0o600) // without it the next call looks again
}

// sweepAll removes records and results whose network namespaces are gone.
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
		// A sandbox with a record is handled by it.
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
	r, err := c.known(container)
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

// sweepNotes removes notes of ADDs without a record: a version that does not know of them removes records alone.
func (c *call) sweepNotes(ctx context.Context) error {
	names, err := c.endingIn(finished)
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
		if !exists(c.file(container)) { // no ADD has begun meanwhile
			errs = append(errs, c.forget(container))
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

// collect removes what the runtime does not name.
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
	// A network that has another list than at its ADD is collected by the cached one; plugins learn what is valid by this one.
	errs = append(errs, c.cni.GCNetworkList(ctx, c.own, &libcni.GCArgs{ValidAttachments: read.Valid}))
	return errors.Join(errs...)
}

func (c *call) collectRecord(ctx context.Context, container string) error {
	unlock, err := c.lock(ctx, container)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := c.known(container)
	if err != nil || r == nil {
		return err
	}
	return c.undo(ctx, *r)
}
