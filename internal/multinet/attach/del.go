package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containernetworking/cni/libcni"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// del removes a sandbox from its networks. It succeeds when nothing is left, also if there was nothing.
func (c *call) del(ctx context.Context) error {
	if !exists(c.file(c.request.ContainerID)) {
		old, err := c.ofMultus()
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
	r, err := c.known(c.request.ContainerID)
	if err != nil {
		return err
	}
	if r == nil {
		return c.delDefault(ctx)
	}
	if c.request.NetNS == "" {
		r.NetNS = "" // it is gone
	}
	if err := c.undo(ctx, *r); err != nil {
		return err
	}
	return c.forgetMultus()
}

// delDefault removes a sandbox that has only its default network: by the configuration of its ADD if it is known, otherwise by the one that the
// runtime's file has now.
func (c *call) delDefault(ctx context.Context) error {
	list, rt := c.own, c.defaultRuntime()
	if raw, cached, err := c.cni.GetNetworkListCachedConfig(c.own, rt); err == nil && len(raw) > 0 {
		if made, err := parseList(raw); err == nil {
			cached.NetNS = rt.NetNS
			list, rt = made, cached
		}
	}
	if err := c.cni.DelNetworkList(ctx, list, rt); err != nil {
		return coded(c.own.Name, err)
	}
	return nil
}

// removedLimit is how long it may take to tell the daemon how long a removal took.
const removedLimit = 50 * time.Millisecond

// undo removes all networks of a record in reverse, and then the record. Each is tried; one that fails does not spare the others.
func (c *call) undo(ctx context.Context, r record) error {
	if ctx.Err() != nil {
		// The time is over, but what was made must not stay.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), keepBack)
		defer cancel()
	}
	var errs []error
	missing := true
	var took []wire.Timing
	for _, n := range slices.Backward(r.Networks) {
		start := time.Now()
		if err := errors.Join(c.detach(ctx, r, n), n.forgetDevice()); err != nil {
			missing = missing && isMissing(err)
			errs = append(errs, coded(n.label(), err))
		}
		took = append(took, wire.Timing{Name: n.Name, Took: time.Since(start)})
	}
	if len(errs) == 0 {
		if err := c.forget(r.ContainerID); err != nil {
			return err
		}
		telling, cancel := context.WithTimeout(context.WithoutCancel(ctx), removedLimit)
		defer cancel()
		// It becomes a metric. While the daemon is away, there is none.
		_ = c.Ask(telling, wire.CommandRemoved, wire.Removal{Networks: took}, nil)
		return nil
	}
	err := joined(errs)
	if !missing {
		return err
	}
	return c.withoutPlugin(ctx, r, err)
}

func (c *call) detach(ctx context.Context, r record, n network) error {
	list, rt, err := n.run(r)
	if err != nil {
		return err
	}
	return c.cni.DelNetworkList(ctx, list, rt)
}

// withoutPlugin decides about a removal that fails for plugins that are not on the node any more. After some minutes it gives up, so
// that no sandbox stays for ever.
func (c *call) withoutPlugin(ctx context.Context, r record, err error) error {
	now := c.Now()
	switch {
	case r.MissingSince == nil:
		r.MissingSince = &now
		return errors.Join(err, c.write(r))
	case now.Sub(*r.MissingSince) < giveUpAfter:
		return err
	}
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportLimit)
	defer cancel()
	// An event is all that the daemon makes of it.
	_ = c.Ask(reporting, wire.CommandReport, wire.Report{Pod: c.pod(), Sandbox: r.ContainerID, Default: c.own.Name,
		Failure: fmt.Sprintf("the sandbox was removed after %s without its plugins: %s", giveUpAfter, err)}, nil)
	return c.forget(r.ContainerID)
}

// joined is several errors as one of CNI. Its code is that of the first.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return cniproto.Errorf(cniproto.AsError(errs[0]).Code, "%v", errors.Join(errs...))
}

// check compares the networks of a sandbox with the kernel, and has their plugins do so.
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
			errs = append(errs, coded(n.label(), err))
		}
	}
	if r.Policies {
		if err := c.Ask(ctx, wire.CommandCheckPolicies, wire.PoliciesRequest{Pod: c.pod(), Sandbox: r.ContainerID}, nil); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return joined(errs)
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
	if err := checkKernel(r.NetNS, n.Interface, cached); err != nil {
		return err
	}
	if n.Rerouted {
		return nil // its plugins would look for a default route that another network has
	}
	if err := c.cni.CheckNetworkList(ctx, list, rt); err != nil && !errors.Is(err, libcni.ErrorCheckNotSupp) {
		return err
	}
	return nil
}
