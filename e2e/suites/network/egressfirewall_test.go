package network

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// errPasses: a connection succeeds that must not.
var errPasses = errors.New("the connection succeeds")

// denied returns the opposite of a connection, which fails within its own limit.
func denied(connect func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if connect(ctx) == nil {
			return errPasses
		}
		return ctx.Err()
	}
}

// What an egress firewall denies to a namespace is dropped, for that namespace alone, until the firewall is deleted.
func TestEgressFirewallDeniesANetwork(t *testing.T) {
	if !network.NetNamespaces {
		return
	}
	restricted, other := lab.Namespace(t), lab.Namespace(t)
	serveOutside(t, other)
	_, outside := freeAddress(t)
	reaches := func(ns string) func(context.Context) error {
		client, err := lab.RunPod(t.Context(), kit.ServerPod(ns, "client", "worker-0", nil))
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := lab.Get(ctx, client, fmt.Sprintf("http://%s:%d/clientip", outside, outsidePort))
			return err
		}
	}
	from, fromOther := reaches(restricted), reaches(other)
	kit.Eventually(t, time.Minute, "nothing is denied", from)
	firewall := &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: restricted, Name: "default"}, Spec: sdnv1.EgressNetworkPolicySpec{
		Egress: []sdnv1.EgressNetworkPolicyRule{{Type: sdnv1.EgressNetworkPolicyRuleDeny, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: outside.String() + "/32"}}},
	}}
	if err := lab.Client.Create(t.Context(), firewall); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the firewall denies the address", denied(from))
	if err := fromOther(t.Context()); err != nil {
		t.Errorf("the firewall is one of another namespace: %v", err)
	}
	if err := lab.Client.Delete(t.Context(), firewall); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "without the firewall nothing is denied", from)
}
