package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flannel-io/flannel/pkg/ip"
	"github.com/flannel-io/flannel/pkg/lease"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/etcdtest"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

const prefix = "/coreos.com/network"

func config() agentconfig.Config {
	c := agentconfig.Default()
	c.Network = agentconfig.Network{IPv4: netip.MustParsePrefix("10.1.0.0/16"), IPv4SubnetLen: 24}
	return c
}

func start(t *testing.T) *clientv3.Client {
	t.Helper()
	return etcdtest.Start(t, netns.New(t, "etcd").Path(), "127.0.0.1").Client()
}

func request(node, address string) store.Request {
	return store.Request{Node: node, Network: config().Network, Attrs: attrs(address)}
}

func attrs(address string) lease.LeaseAttrs {
	return lease.LeaseAttrs{BackendType: "host-gw", PublicIP: ip.MustParseIP4(address)}
}

func acquire(t *testing.T, s *store.Store, req store.Request) store.Held {
	t.Helper()
	held, err := s.Acquire(t.Context(), req)
	if err != nil {
		t.Fatalf("%s: %v", req.Node, err)
	}
	return held
}

func put(t *testing.T, client *clientv3.Client, key, value string) {
	t.Helper()
	if _, err := client.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

func TestAHundredNodesAtOnceGetAHundredSubnets(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), time.Hour)
	var mu sync.Mutex
	owners := map[netip.Prefix]string{}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			node := fmt.Sprintf("node-%d", i)
			held, err := s.Acquire(t.Context(), request(node, fmt.Sprintf("192.168.0.%d", i+1)))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if other, taken := owners[held.IPv4]; taken {
				t.Errorf("%s and %s both hold %s", node, other, held.IPv4)
			}
			owners[held.IPv4] = node
		})
	}
	wg.Wait()
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Leases) != 100 || len(snap.Reservations) != 100 {
		t.Errorf("there are %d leases and %d reservations", len(snap.Leases), len(snap.Reservations))
	}
	for node, r := range snap.Reservations {
		if owners[r.Subnet] != node {
			t.Errorf("%s is reserved for %s and held by %s", r.Subnet, node, owners[r.Subnet])
		}
	}
}

func TestLastFreeSubnetIsAssignedOnce(t *testing.T) {
	client := start(t)
	c := config()
	c.Network.IPv4 = netip.MustParsePrefix("10.1.0.0/22") // three subnets to give out
	s := store.New(client, c, time.Hour)
	results := make(chan error, 8)
	for i := range 8 {
		go func() {
			req := request(fmt.Sprintf("node-%d", i), fmt.Sprintf("192.168.0.%d", i+1))
			req.Network = c.Network
			_, err := s.Acquire(t.Context(), req)
			results <- err
		}()
	}
	failed := 0
	for range 8 {
		if <-results != nil {
			failed++
		}
	}
	if failed != 5 {
		t.Errorf("%d of 8 nodes failed for three subnets", failed)
	}
}

func TestANodeKeepsItsSubnetAfterItsLeaseExpired(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), time.Second)
	first := acquire(t, s, request("node-1", "192.168.0.100"))
	eventually.Holds(t, "a lease of a second expires", func() (string, bool) {
		snap, err := s.Snapshot(t.Context())
		return fmt.Sprintf("%+v, %v", snap, err), err == nil && len(snap.Leases) == 0
	})
	if err := s.Renew(t.Context(), first.ID); !errors.Is(err, store.ErrExpired) {
		t.Errorf("renewing an expired lease returns %v", err)
	}
	other := acquire(t, s, store.Request{
		Node: "node-2", Network: config().Network, Attrs: attrs("192.168.0.200"), PreviousIPv4: first.IPv4,
	})
	if other.IPv4 == first.IPv4 {
		t.Errorf("node-2 got %s, which is reserved for node-1", first.IPv4)
	}
	if again := acquire(t, s, request("node-1", "192.168.0.101")); again.IPv4 != first.IPv4 {
		t.Errorf("node-1 had %s and has %s", first.IPv4, again.IPv4)
	}
}

func TestALeaseThatAnotherNodeHoldsIsNotTakenOver(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), time.Hour)
	// Another flannel, without reservations, was first.
	value, err := json.Marshal(attrs("192.168.0.200"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, client, prefix+"/subnets/10.1.15.0-24", string(value))
	put(t, client, prefix+"/cno/reservations/node-1", `{"node":"node-1","subnet":"10.1.15.0/24"}`)
	var held *store.HeldError
	if _, err := s.Acquire(t.Context(), request("node-1", "192.168.0.100")); !errors.As(err, &held) {
		t.Fatalf("the error is %v, want one that names the holder", err)
	}
	if held.Holder.String() != "192.168.0.200" {
		t.Errorf("the holder is %s", held.Holder)
	}
	if _, err := client.Delete(t.Context(), prefix+"/subnets/10.1.15.0-24"); err != nil {
		t.Fatal(err)
	}
	if got := acquire(t, s, request("node-1", "192.168.0.100")); got.IPv4.String() != "10.1.15.0/24" {
		t.Errorf("after the other went the node has %s", got.IPv4)
	}
}

func TestARestartWritesNothing(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), time.Hour)
	first := acquire(t, s, request("node-1", "192.168.0.100"))
	again := acquire(t, s, request("node-1", "192.168.0.100"))
	if again.ID != first.ID || again.Revision != first.Revision {
		t.Errorf("the lease was written again: %+v, then %+v", first, again)
	}
	resp, err := client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Header.GetRevision() != first.AsOf {
		t.Errorf("the store is at revision %d after %d", resp.Header.GetRevision(), first.AsOf)
	}
}

func TestAnotherNetworkUnderThePrefixIsRefused(t *testing.T) {
	client := start(t)
	put(t, client, prefix+"/config", `{"Network":"10.2.0.0/16","SubnetLen":24,"Backend":{"Type":"host-gw"}}`)
	if held, err := store.New(client, config(), time.Hour).Acquire(t.Context(), request("node-1", "192.168.0.100")); err == nil {
		t.Errorf("the node holds %s", held.IPv4)
	}
}

func TestWatchReportsEveryChangeAndEndsWhenItsRevisionIsCompacted(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), time.Hour)
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held := acquire(t, s, request("node-1", "192.168.0.100"))
	if _, err := client.Delete(t.Context(), held.Key); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var kinds []string
	err = s.Watch(ctx, snap.Revision, func(events []store.Event) {
		for _, e := range events {
			switch {
			case e.Lease != nil:
				kinds = append(kinds, "lease "+e.Lease.PublicIP().String())
			case e.Reservation != nil:
				kinds = append(kinds, "reservation "+e.Reservation.Node)
			default:
				kinds = append(kinds, "gone "+e.Key)
			}
		}
		if len(kinds) == 3 {
			cancel()
		}
	})
	if err == nil || len(kinds) != 3 {
		t.Errorf("the watch saw %v and ended with %v", kinds, err)
	}
	if _, err := client.Compact(t.Context(), held.AsOf+1); err != nil {
		t.Fatal(err)
	}
	long, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := s.Watch(long, snap.Revision, func([]store.Event) {}); err == nil || long.Err() != nil {
		t.Errorf("a watch from a compacted revision ended with %v", err)
	}
}

func TestVerifyNoticesAnotherEtcd(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), time.Hour)
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context(), snap.Cluster, snap.Revision); err != nil {
		t.Errorf("the same etcd: %v", err)
	}
	if err := s.Verify(t.Context(), snap.Cluster, snap.Revision+100); !errors.Is(err, store.ErrReplaced) {
		t.Errorf("an etcd that was set back: %v", err)
	}
	if err := s.Verify(t.Context(), snap.Cluster+1, snap.Revision); !errors.Is(err, store.ErrReplaced) {
		t.Errorf("another etcd: %v", err)
	}
}

func TestReportExpiresWithItsOwnLease(t *testing.T) {
	client := start(t)
	s := store.New(client, config(), 24*time.Hour)
	held := acquire(t, s, request("node-1", "192.168.0.100"))
	under, err := s.Report(t.Context(), agentconfig.AgentStatus{Node: "node-1", Version: "v1"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Report(t.Context(), agentconfig.AgentStatus{Node: "node-1", Version: "v2"}, under); err != nil || again != under {
		t.Errorf("the second report is under lease %x, %v, want %x", again, err, under)
	}
	if left, err := client.TimeToLive(t.Context(), under); err != nil || left.GrantedTTL != int64(agentconfig.ReportTTL/time.Second) {
		t.Errorf("the lease of the report is %+v, %v", left, err)
	}
	if _, err := client.Revoke(t.Context(), under); err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range resp.Kvs {
		keys = append(keys, string(kv.Key))
	}
	if want := []string{prefix + "/cno/reservations/node-1", held.Key}; !slices.Equal(keys, want) {
		t.Errorf("after the report ended there is %v, want %v", keys, want)
	}
}
