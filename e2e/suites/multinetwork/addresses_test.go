package multinetwork

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

// Pods of all nodes share a range, and each address is released.
func TestWhereaboutsAssignsAnAddressOnce(t *testing.T) {
	ns := lab.Namespace(t)
	define(t, ns, "shared", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"10.90.1.48/28","exclude":["10.90.1.49/32"],"ipRanges":[{"range":"fd90:1::1:0/112"}]}}`)
	var pods []*corev1.Pod
	for i := range 8 {
		pod := asking(ns, fmt.Sprintf("p%d", i), fmt.Sprintf("worker-%d", i%2), "shared")
		if err := lab.Client.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, pod)
	}
	kit.Eventually(t, starts, "the last pod has its interface", hasEvent(pods[len(pods)-1], "AddedInterface", "net1"))
	owners := map[string]string{}
	for _, pod := range pods {
		for _, s := range statusOf(t, pod) {
			if s.Interface != "net1" {
				continue
			}
			if len(s.IPs) != 2 {
				t.Errorf("%s has %v", pod.Name, s.IPs)
			}
			for _, ip := range s.IPs {
				if owners[ip] != "" || ip == "10.90.1.49" || ip == "10.90.1.48" {
					t.Errorf("%s has %s, which %s has or no pod may have", pod.Name, ip, owners[ip])
				}
				owners[ip] = pod.Name
			}
		}
	}
	if len(owners) != 16 {
		t.Errorf("addresses: %v", owners)
	}
	for _, pod := range pods {
		remove(t, pod)
	}
	kit.Eventually(t, time.Minute, "all addresses are released", func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "ippools.whereabouts.cni.cncf.io", "-n", "openshift-multus", "-o", "jsonpath={.items[*].spec.allocations}")
		if err == nil && strings.Trim(out, "{} ") != "" {
			err = errors.New(out)
		}
		return err
	})
}

// A network of spec.additionalNetworks is available to the pods of its namespace, with addresses of the link's DHCP server.
func TestAdditionalNetworksWithDHCP(t *testing.T) {
	ns := lab.Namespace(t)
	lab.Edit(t, func(spec *operatorv1.NetworkSpec) {
		spec.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{{
			Name: "plant", Namespace: ns, Type: osv1.NetworkTypeSimpleMacvlan, SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{Master: "eth1"},
		}}
	})
	pod := run(t, asking(ns, "leased", "worker-0", "plant"))
	all := statusOf(t, pod)
	if len(all) != 2 || len(all[1].IPs) != 1 || !strings.HasPrefix(all[1].IPs[0], "10.90.1.1") {
		t.Fatalf("%+v", all)
	}
	if err := lab.Ping(t.Context(), pod, outside4); err != nil {
		t.Error(err)
	}
	remove(t, pod)
	left(t, "worker-0")
}
