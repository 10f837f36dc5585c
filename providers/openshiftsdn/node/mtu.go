package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const topicMTU agent.Topic = "mtu"

// CheckMTU returns an error if the configuration has another MTU state than the agent's pod expects: the kubelet has mounted an older ConfigMap. An empty
// expected value, that of agentconfig.VariableMTU, disables the check.
func CheckMTU(c agentconfig.Config, expected string) error {
	state, err := mtumigration.StateOf(c.MTU, c.Migration).Encode()
	if err != nil || expected == "" || state == expected {
		return err
	}
	return fmt.Errorf("the configuration has the MTU %s, and this pod is for %s: the kubelet has yet to mount the new ConfigMap", state, expected)
}

// migratePods sets the MTU of running pods during an MTU migration. The agent is not ready until all have it: its readiness means for the operator that the node has
// completed the step.
func (d *daemon) migratePods(ctx context.Context) error {
	if d.Config.Migration == nil || !d.server.Serving() {
		return nil
	}
	all := func(cniserver.Call) bool { return true }
	return d.server.Each(ctx, all, func(_ context.Context, c cniserver.Call) error {
		l := ovs.PodLink{Name: linkName(c), Pod: c.NetNS, PodName: c.IfName, Place: d.place}
		if err := l.SetMTU(d.Config.MTU, d.Config.Migration.Routable()); err != nil {
			return fmt.Errorf("the MTU of pod %s/%s cannot be changed; start the pod again: %w", c.Pod().Namespace, c.Pod().Name, err)
		}
		return nil
	})
}

// migrated reports whether the node has completed the configured step of an MTU migration.
func (d *daemon) migrated(nodePort, pods error) bool {
	return d.Config.Migration == nil || errors.Join(nodePort, pods) == nil && d.server.Serving()
}
