package hostsubnet_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/hostsubnet"
)

// TestNodesUseWhatTheControllerKeeps: of all pairs of HostSubnets of hosts, nodes use exactly those that the controller does not report or delete.
func TestNodesUseWhatTheControllerKeeps(t *testing.T) {
	pool, services := netip.MustParsePrefix("10.128.0.0/14"), netip.MustParsePrefix("172.30.0.0/16")
	var all []*sdnv1.HostSubnet
	for _, name := range []string{"a", "b"} {
		for _, block := range []string{"10.128.0.0/23", "10.128.1.0/24", "10.128.4.0/23", "10.128.4.1/23", "10.128.4.0/32", "fd00::/64", "x"} {
			for _, address := range []string{"192.0.2.1", "192.0.2.2", "10.129.0.1", "172.30.0.1", "fd00::1", ""} {
				for _, host := range []string{name, "other"} {
					for created := range 2 {
						all = append(all, &sdnv1.HostSubnet{
							ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(time.Unix(int64(created), 0))}, Host: host, HostIP: address, Subnet: block,
						})
					}
				}
			}
		}
	}
	used := 0
	for _, a := range all {
		for _, b := range all {
			if a.Name >= b.Name {
				continue
			}
			pair := []*sdnv1.HostSubnet{a, b}
			plan := hostsubnet.New(hostsubnet.Cluster{Nodes: []*corev1.Node{}, HostSubnets: pair, Pools: []nodeblocks.Pool{{Network: pool, Length: 23}}, Services: []netip.Prefix{services}})
			usable, refused := hostsubnet.Usable(pair, []netip.Prefix{pool, services})
			for _, s := range pair {
				kept := !slices.Contains(plan.Delete, s) && !slices.ContainsFunc(plan.Problems, func(p hostsubnet.Problem) bool { return p.Object == s })
				uses := slices.ContainsFunc(usable, func(e hostsubnet.Endpoint) bool { return e.Subnet == s })
				if uses != kept || uses == (refused[s.Name] != nil) {
					t.Fatalf("%s of %s %s %s %s and %s %s %s %s: used %t, kept %t, %v, %v", s.Name, a.Host, a.HostIP, a.Subnet, a.CreationTimestamp, b.Host, b.HostIP, b.Subnet, b.CreationTimestamp, uses, kept, refused[s.Name], plan.Problems)
				}
				if uses {
					used++
				}
			}
		}
	}
	if used == 0 {
		t.Error("no HostSubnet is used")
	}
}

func TestOldestFirst(t *testing.T) {
	at := func(name string, created int64, subnet string) *sdnv1.HostSubnet {
		return &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(created, 0))}, Host: name, HostIP: "192.0.2." + name, Subnet: subnet}
	}
	usable, refused := hostsubnet.Usable([]*sdnv1.HostSubnet{at("1", 9, "10.128.2.0/24"), at("2", 5, "10.128.2.0/23"), at("3", 1, "10.128.4.0/23"), at("4", 0, "")}, nil)
	if len(usable) != 2 || usable[0].Subnet.Name != "3" || usable[1].Subnet.Name != "2" {
		t.Errorf("usable are %v", usable)
	}
	if len(refused) != 1 || !strings.Contains(refused["1"].Error(), `HostSubnet 1: subnet "10.128.2.0/24" overlaps the block of an older HostSubnet`) {
		t.Errorf("refused are %v", refused)
	}
}
