package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/utils"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// reportTimeout bounds the report of a failure. The report only becomes an event.
const reportTimeout = 3 * time.Second

// add attaches a pod to its networks, or to none.
func (c *call) add(ctx context.Context) ([]byte, error) {
	if err := utils.ValidateContainerID(c.request.ContainerID); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "CNI_CONTAINERID %q: %s", c.request.ContainerID, err.Msg)
	}
	c.sweep(ctx)
	if !c.mayRequestNetworks() && !exists(c.file(c.request.ContainerID)) {
		return c.addDefault(ctx)
	}
	unlock, err := c.lock(ctx, c.request.ContainerID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := c.undoExisting(ctx); err != nil {
		return nil, err
	}
	var plan wire.Plan
	if err := c.Ask(ctx, wire.CommandPlan, c.planRequest(), &plan); err != nil {
		return nil, err
	}
	r, err := c.newRecord(plan)
	if err != nil {
		return nil, err
	}
	if err := c.write(r); err != nil {
		return nil, err
	}
	result, err := c.attach(ctx, &r, plan)
	if err == nil {
		err = c.markComplete(r)
	}
	if err != nil {
		return nil, c.cleanUpFailure(ctx, r, err)
	}
	return c.encodeResult(result)
}

// addDefault attaches a pod to its default network only.
func (c *call) addDefault(ctx context.Context) ([]byte, error) {
	rt := c.defaultRuntime()
	workCtx, stop := withCleanupReserve(ctx)
	result, err := c.cni.AddNetworkList(workCtx, c.own, rt)
	stop()
	if err != nil {
		// The runtime calls DEL, too, and ignores its errors.
		if left := c.cni.DelNetworkList(ctx, c.own, rt); left != nil {
			err = errors.Join(err, fmt.Errorf("clean up: %w", left))
		}
		return nil, withNetwork(c.own.Name, err)
	}
	return c.encodeResult(result)
}

func (c *call) planRequest() wire.PlanRequest {
	annotations, _ := c.annotations()
	return wire.PlanRequest{Pod: c.pod(), Annotations: annotations, Default: c.own.Name}
}

// undoExisting removes the attachments of an earlier ADD of the sandbox. Runtimes do not repeat an ADD, but tests and users may.
func (c *call) undoExisting(ctx context.Context) error {
	old, err := c.loadRecord(c.request.ContainerID)
	if err != nil || old == nil {
		return err
	}
	return c.undo(ctx, *old)
}

// newRecord returns the record of the plugins that the ADD is about to run.
func (c *call) newRecord(plan wire.Plan) (record, error) {
	id, err := nsid.Of(c.request.NetNS)
	if err != nil {
		return record{}, cniproto.Errorf(cniproto.CodeUnknownContainer, "network namespace %s: %v", c.request.NetNS, err)
	}
	first := network{Name: c.own.Name, Interface: c.request.IfName, Default: true, List: c.conf.Delegate, Runtime: c.defaultRuntime().CapabilityArgs}
	if a := plan.Default; a != nil {
		first.Name, first.List = a.Network, a.List
		// The pod's annotation takes precedence over what the runtime passes.
		maps.Copy(first.Runtime, a.Runtime)
		if err := c.prepareDevice(&first, *a); err != nil {
			return record{}, err
		}
	}
	r := record{ContainerID: c.request.ContainerID, NetNS: c.request.NetNS, NetNSID: id, Args: c.args, Networks: []network{first}, Policies: plan.Policies && len(plan.Attachments) > 0}
	for _, a := range plan.Attachments {
		n := network{Name: a.Network, Interface: a.Interface, List: a.List, Runtime: a.Runtime}
		if err := c.prepareDevice(&n, a); err != nil {
			return record{}, err
		}
		r.Networks = append(r.Networks, n)
	}
	return r, nil
}

// attach runs the plugins of all networks of a record, sets the default routes of the plan, and reports the results to the daemon. It returns the
// result of the default network.
func (c *call) attach(ctx context.Context, r *record, plan wire.Plan) (types.Result, error) {
	workCtx, stop := withCleanupReserve(ctx)
	enforced := c.enforcePolicies(workCtx, *r)
	defer func() { stop(); _ = enforced() }()
	results, durations := make([]*current.Result, 0, len(r.Networks)), make([]time.Duration, len(r.Networks))
	for i, n := range r.Networks {
		if !n.Default {
			if err := enforced(); err != nil {
				return nil, err
			}
		}
		start := time.Now()
		list, rt, err := n.run(*r)
		if err != nil {
			return nil, withNetwork(n.label(), err)
		}
		result, err := c.cni.AddNetworkList(workCtx, list, rt)
		if err != nil {
			return nil, withNetwork(n.label(), err)
		}
		converted, err := current.NewResultFromResult(result)
		if err != nil {
			return nil, withNetwork(n.label(), fmt.Errorf("read the result: %w", err))
		}
		results = append(results, converted)
		durations[i] = time.Since(start)
	}
	if err := c.reroute(r, plan, results); err != nil {
		return nil, err
	}
	report, err := c.report(*r, plan, results)
	if err != nil {
		return nil, err
	}
	for i := range durations {
		report.Networks[i].Took = durations[i]
	}
	if err := c.Ask(workCtx, wire.CommandReport, report, nil); err != nil {
		return nil, err
	}
	return results[0], nil
}

// enforcePolicies has the daemon write the rules of MultiNetworkPolicies, and returns a function that waits for it. The rules name interfaces, which need not
// exist yet: they are in effect before the first further interface exists, so that not even the kernel's own packets pass against a policy. They do not
// concern the default network, whose plugins run meanwhile.
func (c *call) enforcePolicies(ctx context.Context, r record) (wait func() error) {
	if !r.Policies {
		return func() error { return nil }
	}
	answer := make(chan error, 1)
	go func() {
		answer <- c.Ask(ctx, wire.CommandPolicies, wire.PoliciesRequest{Pod: c.pod(), Sandbox: r.ContainerID}, nil)
	}()
	return sync.OnceValue(func() error { return <-answer })
}

func (c *call) report(r record, plan wire.Plan, results []*current.Result) (wire.Report, error) {
	report := wire.Report{Pod: c.pod(), Sandbox: r.ContainerID, Default: r.Networks[0].Name}
	mtus := mtusOf(r.NetNS)
	for i, n := range r.Networks {
		raw, err := json.Marshal(results[i])
		if err != nil {
			return report, err
		}
		w := wire.Network{Name: n.Name, Interface: n.Interface, Default: n.Default, Result: raw, MTU: mtus[n.Interface]}
		a := plan.Default
		if i > 0 {
			a = &plan.Attachments[i-1]
		}
		if a != nil {
			w.DeviceID = a.DeviceID
			if w.DeviceInfo, err = c.deviceInfo(n, *a); err != nil {
				return report, withNetwork(n.label(), err)
			}
		}
		report.Networks = append(report.Networks, w)
	}
	return report, nil
}

// cleanUpFailure removes the attachments of a failed ADD and reports the cause to the daemon, which records an event on the pod.
func (c *call) cleanUpFailure(ctx context.Context, r record, err error) error {
	if left := c.undo(ctx, r); left != nil {
		err = &cleanupError{err, left}
	}
	if cniproto.AsError(err).Code != cniproto.CodeTryAgain {
		reportCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
		defer cancel()
		// The runtime gets the error of the ADD in any case.
		_ = c.Ask(reportCtx, wire.CommandReport, wire.Report{Pod: c.pod(), Sandbox: r.ContainerID, Default: c.own.Name, Failure: err.Error()}, nil)
	}
	return err
}

// cleanupError is a failed ADD whose attachments could not all be removed.
type cleanupError struct{ failure, left error }

func (e *cleanupError) Error() string {
	return fmt.Sprintf("%s; clean-up is incomplete and is retried by the following DEL: %s", e.failure, e.left)
}
func (e *cleanupError) Unwrap() error { return e.failure }

// withCleanupReserve returns a context that ends early enough to leave time for undoing the work that was done under it.
func withCleanupReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(deadline)
	return context.WithDeadline(ctx, deadline.Add(-min(cleanupReserve, left/4)))
}

// label names a network in errors.
func (n network) label() string { return fmt.Sprintf("%s (interface %s)", n.Name, n.Interface) }

// run returns the arguments of libcni for a network of a record.
func (n network) run(r record) (*libcni.NetworkConfigList, *libcni.RuntimeConf, error) {
	list, err := parseList(n.List)
	if err != nil {
		return nil, nil, err
	}
	return list, &libcni.RuntimeConf{ContainerID: r.ContainerID, NetNS: r.NetNS, IfName: n.Interface, Args: r.Args, CapabilityArgs: n.Runtime}, nil
}

// parseList reads a configuration list, or a configuration with one plugin.
func parseList(raw []byte) (*libcni.NetworkConfigList, error) {
	list, err := libcni.NetworkConfFromBytes(raw)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "%v", err)
	}
	if len(list.Plugins) > 0 {
		return list, nil
	}
	whole, err := json.Marshal(map[string]any{"name": list.Name, "cniVersion": list.CNIVersion, "plugins": []json.RawMessage{raw}})
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "%v", err)
	}
	if list, err = libcni.NetworkConfFromBytes(whole); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "%v", err)
	}
	return list, nil
}

// withNetwork adds the name of the network to the error of a plugin, and keeps the plugin's code.
func withNetwork(network string, err error) error {
	code := cniproto.CodeInternal
	if own, ok := errors.AsType[*cniproto.Error](err); ok {
		code = own.Code
	} else if printed, ok := errors.AsType[*types.Error](err); ok && printed.Code <= cniproto.CodeInternal {
		code = int(printed.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		code = cniproto.CodeTryAgain
	}
	return cniproto.Errorf(code, "network %s: %v", network, err)
}
