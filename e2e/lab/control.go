package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/plan"
	"github.com/cluster-network-operator/cno/e2e/lab/process"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// Stop powers nodes off, or stops units until they are started. See ParseTarget
// for the syntax of target.
func (l *Lab) Stop(ctx context.Context, target string) error {
	return l.forEach(target, func(n topology.Node, unit string) error {
		if unit == "" {
			return l.powerOff(ctx, n)
		}
		return l.supervisor(n.Name).Stop(ctx, unit)
	})
}

// Start reverts Stop. It does not change a node that is on.
func (l *Lab) Start(ctx context.Context, target string) error {
	return l.forEach(target, func(n topology.Node, unit string) error {
		if unit != "" {
			return l.startUnit(ctx, n, unit)
		}
		if _, err := l.init(n.Name); err == nil {
			return nil
		}
		return l.execute(ctx, plan.Node(l.record.Topology, n))
	})
}

// Kill sends SIGKILL to units; the supervisor restarts them as after any crash.
// A whole node is powered off.
func (l *Lab) Kill(ctx context.Context, target string) error {
	return l.forEach(target, func(n topology.Node, unit string) error {
		if unit == "" {
			return l.powerOff(ctx, n)
		}
		return l.supervisor(n.Name).Signal(ctx, unit, syscall.SIGKILL)
	})
}

func (l *Lab) forEach(target string, f func(n topology.Node, unit string) error) error {
	t, err := ParseTarget(l.record.Topology, target)
	if err != nil {
		return err
	}
	for _, n := range t.Nodes {
		if err := f(n, t.Unit); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

// SetCable plugs or unplugs the network cable of a device of a node or an outside host. An empty device is
// the first one.
func (l *Lab) SetCable(node, device string, plugged bool) error {
	if _, err := l.record.Topology.Machine(node); err != nil {
		return err
	}
	if device == "" {
		device = underlay.Device
	}
	p, err := l.init(underlay.Name)
	if err != nil {
		return err
	}
	return underlay.SetCable(p.PID, node, device, plugged)
}

// powerOff kills all processes of the node and removes its network; its disk is
// kept.
func (l *Lab) powerOff(ctx context.Context, n topology.Node) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	p, err := process.Load(l.host.Layout.Process(n.Name))
	if err != nil {
		return err
	}
	if err := p.Kill(ctx); err != nil {
		return err
	}
	groups, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	if err := cgroup.Remove(ctx, l.branch(n.Name), groups); err != nil {
		return err
	}
	if holder, err := l.init(underlay.Name); err == nil {
		if err := underlay.Detach(holder.PID, l.record.Topology, n); err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(l.host.Layout.Socket(n.Name)), os.RemoveAll(l.host.Layout.Process(n.Name)))
}

// AddNode adds a worker and returns it once its kubelet has registered it.
func (l *Lab) AddNode(ctx context.Context) (topology.Node, error) {
	t, n, err := l.record.Topology.AddWorker()
	if err != nil {
		return n, err
	}
	l.record.Topology = t
	// Record the node first, so that commands can remove it after a failure.
	if err := l.save(); err != nil {
		return n, err
	}
	return n, l.execute(ctx, plan.Node(t, n))
}

// RemoveNode powers a worker off permanently, and deletes its disk and its Node object.
func (l *Lab) RemoveNode(ctx context.Context, name string) error {
	n, err := l.record.Topology.Node(name)
	if err != nil {
		return err
	}
	t, err := l.record.Topology.RemoveWorker(name)
	if err != nil {
		return err
	}
	if err := l.powerOff(ctx, n); err != nil {
		return err
	}
	if _, err := l.Kubectl(ctx, nil, "delete", "node", name, "--ignore-not-found"); err != nil {
		return err
	}
	if err := os.RemoveAll(l.host.Layout.Disk(name)); err != nil {
		return fmt.Errorf("remove the disk of %s: %w", name, err)
	}
	l.record.Topology = t
	return l.save()
}
