package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/flannel-io/flannel/pkg/lease"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/subnet/etcd"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/etcdtest"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// Flannel's manager cannot be given a dialer, so that it is connected through a forwarded port.
func TestFlannelsOwnManagerSeesOurLeasesAndTakesAnother(t *testing.T) {
	server := etcdtest.Start(t, netns.New(t, "interop").Path(), "127.0.0.1")
	client := server.Client()
	c := config()
	value, err := c.NetworkConfig()
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, agentconfig.ConfigKey(prefix), string(value))
	s := store.New(client, c, time.Hour)
	ours := acquire(t, s, request("node-1", "192.168.0.100"))

	forward := server.Forward()
	manager, err := etcd.NewLocalManager(t.Context(), &etcd.EtcdConfig{Endpoints: []string{forward}, Prefix: prefix}, ip.IP4Net{}, ip.IP6Net{}, 60)
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan []lease.LeaseWatchResult, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { _ = manager.WatchLeases(ctx, received) }()
	select {
	case results := <-received:
		snapshot := results[0].Snapshot
		if len(snapshot) != 1 || snapshot[0].Subnet.String() != ours.IPv4.String() || snapshot[0].Attrs.PublicIP.String() != "192.168.0.100" {
			t.Errorf("flannel reads %+v", snapshot)
		}
	case <-ctx.Done():
		t.Fatal("flannel's manager reads nothing")
	}

	other := attrs("192.168.0.200")
	upstream, err := manager.AcquireLease(t.Context(), &other)
	if err != nil {
		t.Fatal(err)
	}
	if upstream.Subnet.String() == ours.IPv4.String() {
		t.Errorf("both hold %s", ours.IPv4)
	}
	// A node that moves from flannel's own daemon to ours keeps its subnet.
	adopted := acquire(t, s, request("node-2", "192.168.0.200"))
	if adopted.IPv4.String() != upstream.Subnet.String() {
		t.Errorf("the node had %s and has %s", upstream.Subnet, adopted.IPv4)
	}
	resp, err := client.Get(t.Context(), agentconfig.SubnetDir(prefix), clientv3.WithPrefix())
	if err != nil || len(resp.Kvs) != 2 {
		t.Errorf("there are %d leases, %v", len(resp.Kvs), err)
	}
}
