package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/etcdtest"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// What reaches no member cannot report that: its report ends, and the operator names the node.
func TestReportIsKeptWhileItsAgentReachesEtcd(t *testing.T) {
	client := etcdtest.Start(t, netns.New(t, "etcd").Path(), "127.0.0.1").Client()
	config := single()
	config.StateDir = t.TempDir()
	const life = 9 * time.Second
	a, err := newAgent(Options{Config: config, Node: "node1", LeaseTTL: life, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	a.board.Note(topicBackend, errors.New("a node without a subnet reports why"))
	ctx, disconnect := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.publish(ctx, store.New(client, config, life)) }()
	report := func() (string, clientv3.LeaseID) {
		resp, err := client.Get(t.Context(), agentconfig.AgentKey(config.Etcd.Prefix, "node1"))
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.Kvs) == 0 {
			return "", 0
		}
		return string(resp.Kvs[0].Value), clientv3.LeaseID(resp.Kvs[0].Lease)
	}
	eventually.Holds(t, "there is a report", func() (string, bool) { v, _ := report(); return v, v != "" })
	left := int64(life / time.Second)
	eventually.Holds(t, "its lease is renewed", func() (string, bool) {
		_, lease := report()
		now, err := client.TimeToLive(t.Context(), lease)
		if err != nil {
			return err.Error(), false
		}
		renewed := now.TTL > left
		left = now.TTL
		return fmt.Sprint(now.TTL), renewed
	})
	disconnect()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the report ends", func() (string, bool) { v, _ := report(); return v, v == "" })
}
