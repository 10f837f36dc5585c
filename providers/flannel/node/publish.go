package node

import (
	"context"
	"reflect"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// publish writes the agent's report whenever it changed. It goes with the node's lease. A node that holds no
// subnet reports why, under a lease for the report alone.
func (a *flanneld) publish(ctx context.Context, st *store.Store) error {
	var last agentconfig.AgentStatus
	var under, spare clientv3.LeaseID
	for ctx.Err() == nil {
		t, tenureChanged := a.tenure.Get()
		v, boardChanged := a.board.Get()
		current := report(v)
		id := t.id
		if !t.confirmed() {
			id = spare
		}
		nothing := !t.confirmed() && len(current.Errors) == 0
		if nothing || under == id && id != 0 && reflect.DeepEqual(last, current) {
			if agent.Wait(ctx, tenureChanged, boardChanged, time.After(a.LeaseTTL/3)) {
				under, spare = 0, 0 // whatever it goes with, it is written again before that ends
			}
			agent.Pause(ctx, 50*time.Millisecond, nil) // changes come in groups
			continue
		}
		writeCtx, cancel := context.WithTimeout(ctx, etcdTimeout)
		used, err := st.Report(writeCtx, current, id)
		cancel()
		if err != nil {
			spare = 0
			agent.Pause(ctx, retryPause, nil)
			continue
		}
		if last, under = current, used; !t.confirmed() {
			spare = used
		}
	}
	return nil
}
