package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"
	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// del removes a sandbox from its networks. It also succeeds if the sandbox has no attachments.
func (c *call) del(ctx context.Context) error {
	if !exists(c.file(c.request.ContainerID)) {
		old, err := c.multusRecord()
		if err != nil {
			return err
		}
		if old == nil {
			return c.delDefault(ctx)
		}
		if err := c.write(*old); err != nil {
			return err
		}
	}
	unlock, err := c.lock(ctx, c.request.ContainerID)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := c.loadRecord(c.request.ContainerID)
	if err != nil {
		return err
	}
	if r == nil {
		return c.delDefault(ctx)
	}
	if c.request.NetNS == "" {
		r.NetNS = "" // the namespace no longer exists
	}
	if err := c.undo(ctx, *r); err != nil {
		return err
	}
	return c.removeMultusRecord()
}

// delDefault removes a sandbox that has only its default network. It uses the cached configuration of the ADD, or else that of the runtime's file.
func (c *call) delDefault(ctx context.Context) error {
	list, rt := c.own, c.defaultRuntime()
	if raw, cached, err := c.cni.GetNetworkListCachedConfig(c.own, rt); err == nil && len(raw) > 0 {
		if made, err := parseList(raw); err == nil {
			cached.NetNS = rt.NetNS
			list, rt = made, cached
		}
	}
	if err := c.cni.DelNetworkList(ctx, list, rt); err != nil {
		return withNetwork(c.own.Name, err)
	}
	return nil
}

// removedTimeout bounds the report of a removal's duration to the daemon.
const removedTimeout = 50 * time.Millisecond

// undo detaches all networks of a record in reverse order, and then removes the record. It continues after a network that fails.
func (c *call) undo(ctx context.Context, r record) error {
	if ctx.Err() != nil {
		// The deadline has passed, but the attachments must still be removed.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), cleanupReserve)
		defer cancel()
	}
	var errs []error
	missing := true
	var durations []wire.Timing
	for _, n := range slices.Backward(r.Networks) {
		start := time.Now()
		// A plugin that stalls leaves time for those of the other networks.
		detachCtx, stop := withCleanupReserve(ctx)
		err := errors.Join(c.detach(detachCtx, r, n), n.removeDeviceInfo())
		stop()
		if err != nil {
			missing = missing && isMissing(err)
			errs = append(errs, withNetwork(n.label(), err))
		}
		durations = append(durations, wire.Timing{Name: n.Name, Took: time.Since(start)})
	}
	if len(errs) == 0 {
		if err := c.removeRecord(r.ContainerID); err != nil {
			return err
		}
		notifyCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removedTimeout)
		defer cancel()
		// The daemon makes a metric of it; without the daemon, the sample is lost.
		_ = c.Ask(notifyCtx, wire.CommandRemoved, wire.Removal{Networks: durations}, nil)
		return nil
	}
	err := joinErrors(errs)
	if !missing {
		return err
	}
	return c.allowMissingPlugin(ctx, r, err)
}

func (c *call) detach(ctx context.Context, r record, n network) error {
	list, rt, err := n.run(r)
	if err != nil {
		return err
	}
	return c.cni.DelNetworkList(ctx, list, rt)
}

// allowMissingPlugin handles a removal that fails because plugins are no longer on the node. After giveUpAfter it removes the record anyway, so that
// the sandbox can be deleted.
func (c *call) allowMissingPlugin(ctx context.Context, r record, err error) error {
	now := c.Now()
	switch {
	case r.MissingSince == nil:
		r.MissingSince = &now
		return errors.Join(err, c.write(r))
	case now.Sub(*r.MissingSince) < giveUpAfter:
		return err
	}
	reportCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	// The daemon only records an event.
	_ = c.Ask(reportCtx, wire.CommandReport, wire.Report{Pod: c.pod(), Sandbox: r.ContainerID, Default: c.own.Name,
		Failure: fmt.Sprintf("the sandbox was removed after %s without its plugins: %s", giveUpAfter, err)}, nil)
	return c.removeRecord(r.ContainerID)
}

// joinErrors returns several errors as one CNI error, with the code of the first.
func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return cniproto.Errorf(cniproto.AsError(errs[0]).Code, "%v", errors.Join(errs...))
}

// check compares the networks of a sandbox with the kernel, and runs CHECK of their plugins.
func (c *call) check(ctx context.Context) error {
	r, err := c.read(c.request.ContainerID)
	if err != nil {
		return err
	}
	if r == nil {
		return c.cni.CheckNetworkList(ctx, c.own, c.defaultRuntime())
	}
	var errs []error
	for _, n := range r.Networks {
		if err := c.checkNetwork(ctx, *r, n); err != nil {
			errs = append(errs, withNetwork(n.label(), err))
		}
	}
	if r.Policies {
		if err := c.Ask(ctx, wire.CommandCheckPolicies, wire.PoliciesRequest{Pod: c.pod(), Sandbox: r.ContainerID}, nil); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return joinErrors(errs)
	}
	return nil
}

func (c *call) checkNetwork(ctx context.Context, r record, n network) error {
	list, rt, err := n.run(r)
	if err != nil {
		return err
	}
	cached, err := c.cni.GetNetworkListCachedResult(list, rt)
	if err != nil || cached == nil {
		return errors.Join(fmt.Errorf("interface %s is not attached", n.Interface), err)
	}
	want, err := current.NewResultFromResult(cached)
	if err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	cni := c.cni
	if n.Rerouted {
		want.Routes = n.Routes
		cni = c.runner(reroutedExec{newExec(), n.Routes})
	}
	if err := checkKernel(r.NetNS, n.Interface, want); err != nil {
		return err
	}
	if err := cni.CheckNetworkList(ctx, list, rt); err != nil && !errors.Is(err, libcni.ErrorCheckNotSupp) {
		return err
	}
	return nil
}
