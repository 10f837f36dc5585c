package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/utils"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// reportLimit is how long the report of a failure may take: it becomes an event, and changes nothing else.
const reportLimit = 3 * time.Second

// add attaches a pod to its networks, or to none.
func (c *call) add(ctx context.Context) ([]byte, error) {
	if err := utils.ValidateContainerID(c.request.ContainerID); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "CNI_CONTAINERID %q: %s", c.request.ContainerID, err.Msg)
	}
	c.sweep(ctx)
	if !c.mayAsk() && !exists(c.file(c.request.ContainerID)) {
		return c.addDefault(ctx)
	}
	unlock, err := c.lock(ctx, c.request.ContainerID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := c.undoKnown(ctx); err != nil {
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
		err = c.complete(r)
	}
	if err != nil {
		return nil, c.failed(ctx, r, err)
	}
	return c.inVersion(result)
}

// addDefault attaches a pod that asks for nothing else.
func (c *call) addDefault(ctx context.Context) ([]byte, error) {
	rt := c.defaultRuntime()
	working, stop := keepingBack(ctx)
	result, err := c.cni.AddNetworkList(working, c.own, rt)
	stop()
	if err != nil {
		// The runtime calls DEL, too, and ignores its errors.
		if left := c.cni.DelNetworkList(ctx, c.own, rt); left != nil {
			err = errors.Join(err, fmt.Errorf("remove what it has left: %w", left))
		}
		return nil, coded(c.own.Name, err)
	}
	return c.inVersion(result)
}

func (c *call) planRequest() wire.PlanRequest {
	annotations, _ := c.annotations()
	return wire.PlanRequest{Pod: c.pod(), Annotations: annotations, Default: c.own.Name}
}

// undoKnown removes what an earlier ADD of the sandbox has made. Runtimes do not repeat an ADD, but a test or a person may.
func (c *call) undoKnown(ctx context.Context) error {
	old, err := c.known(c.request.ContainerID)
	if err != nil || old == nil {
		return err
	}
	return c.undo(ctx, *old)
}

// newRecord returns the record of what is about to run.
func (c *call) newRecord(plan wire.Plan) (record, error) {
	id, err := nsid.Of(c.request.NetNS)
	if err != nil {
		return record{}, cniproto.Errorf(cniproto.CodeUnknownContainer, "network namespace %s: %v", c.request.NetNS, err)
	}
	first := network{Name: c.own.Name, Interface: c.request.IfName, Default: true, List: c.conf.Delegate, Runtime: c.defaultRuntime().CapabilityArgs}
	if plan.Default != nil {
		first.Name, first.List = plan.Default.Network, plan.Default.List
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

// attach runs the plugins of all networks of a record, has the default routes as the plan says, and reports. It returns the result of the default
// network.
func (c *call) attach(ctx context.Context, r *record, plan wire.Plan) (types.Result, error) {
	working, stop := keepingBack(ctx)
	defer stop()
	if r.Policies {
		// Rules name interfaces, which need not exist yet: not even the kernel's own packets pass against a policy.
		if err := c.Ask(working, wire.CommandPolicies, wire.PoliciesRequest{Pod: c.pod(), Sandbox: r.ContainerID}, nil); err != nil {
			return nil, err
		}
	}
	results, took := make([]*current.Result, 0, len(r.Networks)), make([]time.Duration, len(r.Networks))
	for i, n := range r.Networks {
		start := time.Now()
		list, rt, err := n.run(*r)
		if err != nil {
			return nil, coded(n.label(), err)
		}
		result, err := c.cni.AddNetworkList(working, list, rt)
		if err != nil {
			return nil, coded(n.label(), err)
		}
		converted, err := current.NewResultFromResult(result)
		if err != nil {
			return nil, coded(n.label(), fmt.Errorf("read the result: %w", err))
		}
		results = append(results, converted)
		took[i] = time.Since(start)
	}
	if err := c.reroute(r, plan, results); err != nil {
		return nil, err
	}
	report, err := c.report(*r, plan, results)
	if err != nil {
		return nil, err
	}
	for i := range took {
		report.Networks[i].Took = took[i]
	}
	if err := c.Ask(working, wire.CommandReport, report, nil); err != nil {
		return nil, err
	}
	return results[0], nil
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
		if i > 0 {
			w.DeviceID = plan.Attachments[i-1].DeviceID
			if w.DeviceInfo, err = c.deviceInfo(n, plan.Attachments[i-1]); err != nil {
				return report, coded(n.label(), err)
			}
		}
		report.Networks = append(report.Networks, w)
	}
	return report, nil
}

// failed removes what an ADD that failed has made, and has the daemon report why on the pod.
func (c *call) failed(ctx context.Context, r record, err error) error {
	if left := c.undo(ctx, r); left != nil {
		err = &leftError{err, left}
	}
	if cniproto.AsError(err).Code != cniproto.CodeTryAgain {
		reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportLimit)
		defer cancel()
		// What failed is the answer to the runtime in any case.
		_ = c.Ask(reporting, wire.CommandReport, wire.Report{Pod: c.pod(), Sandbox: r.ContainerID, Default: c.own.Name, Failure: err.Error()}, nil)
	}
	return err
}

// leftError is a failure, and that something of it is left.
type leftError struct{ failure, left error }

func (e *leftError) Error() string {
	return fmt.Sprintf("%s; it is not all removed yet, which the DEL that follows tries again: %s", e.failure, e.left)
}
func (e *leftError) Unwrap() error { return e.failure }

// keepingBack returns a context that ends early enough to undo what was done under it.
func keepingBack(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(deadline)
	return context.WithDeadline(ctx, deadline.Add(-min(keepBack, left/4)))
}

// label names a network in errors.
func (n network) label() string { return fmt.Sprintf("%s (interface %s)", n.Name, n.Interface) }

// run returns what libcni needs for a network of a record.
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

// coded names the network in the error of a plugin, and keeps the plugin's code.
func coded(network string, err error) error {
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
