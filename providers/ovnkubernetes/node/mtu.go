package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/podreport"
)

const (
	topicMTU    agent.Topic = "mtu"
	topicReport agent.Topic = "report"

	// mtuInterval is how often the MTU file is read, which the kubelet replaces while the agent runs. mtuTimeout limits the migration of pods, including the
	// wait for running ADDs.
	mtuInterval = 5 * time.Second
	mtuTimeout  = 3 * time.Minute
)

// readMTU returns the desired MTU: that of the file or, without it, of the settings.
func readMTU(c config.Config) (mtumigration.State, error) {
	content, err := os.ReadFile(c.Directories.MTU)
	if errors.Is(err, fs.ErrNotExist) {
		return mtumigration.State{MTU: c.MTU}, nil
	}
	if err != nil {
		return mtumigration.State{}, fmt.Errorf("read the MTU: %w", err)
	}
	m, err := agentconfig.DecodeMTU(content)
	if err != nil {
		return mtumigration.State{}, err
	}
	return mtumigration.StateOf(m.MTU, m.Migration), nil
}

// watchMTU applies changes of the MTU file until the context ends: to new pods at once, to the management port in the next reconcile, and during a migration
// to running pods. It reports the MTU that all of them have.
func (d *daemonState) watchMTU(ctx context.Context) {
	written := ""
	for ctx.Err() == nil {
		state, err := readMTU(d.Config)
		if err == nil {
			if *d.mtu.Swap(&state) != state {
				d.Log.Info("the MTU changes", "mtu", state.MTU, "step", state.Step, "routableMTU", state.RoutableMTU)
				d.changed.Fire()
			}
			err = d.migratePods(ctx, state)
		}
		d.board.Note(topicMTU, err)
		view, changed := d.board.Get()
		if err == nil && view.Status.managementMTU == state && d.server.Serving() {
			written, err = d.reportMTU(ctx, state, written)
			d.board.Note(topicReport, err)
		}
		agent.Pause(ctx, mtuInterval, changed)
	}
}

// migratePods sets the MTU of running pods during an MTU migration, including those whose ADD is in progress.
func (d *daemonState) migratePods(ctx context.Context, state mtumigration.State) error {
	if state.Step == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, mtuTimeout)
	defer cancel()
	return d.server.All(ctx, func(_ context.Context, c cniserver.Call) error {
		l := ovs.PodLink{Name: linkName(c), Pod: c.NetNS, PodName: c.IfName, Place: d.place}
		if err := l.SetMTU(state.MTU, state.RoutableMTU); err != nil {
			return fmt.Errorf("the MTU of pod %s/%s cannot be changed; start the pod again: %w", c.Pod().Namespace, c.Pod().Name, err)
		}
		return nil
	})
}

// reportMTU reports a state of the node, and returns the last report. Without the name of its pod the agent reports nothing.
func (d *daemonState) reportMTU(ctx context.Context, state mtumigration.State, written string) (string, error) {
	text, err := state.Encode()
	if err != nil || text == written || d.Config.Pod == "" {
		return written, err
	}
	if err := podreport.Write(ctx, d.Client, d.Config.Pod, mtumigration.Annotation, text, "ovnkube-node"); err != nil {
		return written, err
	}
	return text, nil
}
