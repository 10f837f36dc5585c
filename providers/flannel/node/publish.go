package node

import (
	"context"
	"errors"
	"reflect"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// publish writes the agent's report after each change, and renews its own lease, which keeps the report without further writes. A node without a subnet
// reports the reason.
func (a *flanneld) publish(ctx context.Context, st *store.Store) error {
	renewEvery := min(a.LeaseTTL, agentconfig.ReportTTL) / 3
	var last agentconfig.AgentStatus
	var under clientv3.LeaseID
	due := a.Now().Add(renewEvery)
	for ctx.Err() == nil {
		t, holdingChanged := a.holding.Get()
		v, boardChanged := a.board.Get()
		current := report(v)
		if !a.Now().Before(due) {
			due = a.Now().Add(renewEvery)
			switch err := a.renewReport(ctx, st, under); {
			case errors.Is(err, store.ErrExpired):
				under = 0
			case err != nil:
				due = a.Now().Add(renewEvery / 20) // retry shortly before the lease ends
			}
		}
		nothing := !t.confirmed() && len(current.Errors) == 0
		if nothing || under != 0 && reflect.DeepEqual(last, current) {
			agent.Wait(ctx, holdingChanged, boardChanged, time.After(due.Sub(a.Now())))
			agent.Pause(ctx, 50*time.Millisecond, nil) // batch changes
			continue
		}
		writeCtx, cancel := context.WithTimeout(ctx, etcdTimeout)
		used, err := st.Report(writeCtx, current, under)
		cancel()
		if err != nil {
			under = 0
			agent.Pause(ctx, retryPause, nil)
			continue
		}
		if used != under {
			due = a.Now().Add(renewEvery)
		}
		last, under = current, used
	}
	return nil
}

// renewReport renews the lease of the report, if there is one.
func (a *flanneld) renewReport(ctx context.Context, st *store.Store, id clientv3.LeaseID) error {
	if id == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	return st.Renew(ctx, id)
}
