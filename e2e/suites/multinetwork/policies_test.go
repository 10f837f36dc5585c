package multinetwork

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
)

const clientsOnly = `{"apiVersion":"k8s.cni.cncf.io/v1beta1","kind":"MultiNetworkPolicy","metadata":{"name":"clients-only","namespace":%q,
"annotations":{"k8s.v1.cni.cncf.io/policy-for":"link"}},"spec":{"podSelector":{"matchLabels":{"app":"server"}},"policyTypes":["Ingress"],
"ingress":[{"from":[{"podSelector":{"matchLabels":{"app":"client"}}}],"ports":[{"protocol":"TCP","port":8080}]}]}}`

// A policy allows only its peers to reach the pods on a further network, from their start on; the pod network is not affected.
func TestPoliciesOnFurtherNetworks(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	enforcing(t, true)
	define(t, ns, "link", macvlanIPs)
	if _, err := lab.KubectlInput(t.Context(), fmt.Sprintf(clientsOnly, ns), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	pod := func(name, node, app, number string) *corev1.Pod {
		p := asking(ns, name, node, `[{"name":"link","ips":["10.90.1.`+number+`/24","fd90:1::`+number+`/64"]}]`)
		p.Labels = map[string]string{"app": app}
		return run(t, p)
	}
	server := pod("server", "worker-0", "server", "61")
	client, other := pod("client", "worker-1", "client", "62"), pod("other", "worker-1", "other", "63")
	for _, address := range []string{"10.90.1.61", "[fd90:1::61]"} {
		url := "http://" + address + ":8080/hostname"
		kit.Eventually(t, time.Minute, "the client reaches "+address, func(ctx context.Context) error {
			_, err := lab.Get(ctx, client, url)
			return err
		})
		if _, err := lab.Get(t.Context(), other, url); err == nil {
			t.Errorf("a pod that the policy does not name reaches %s", address)
		}
	}
	if err := lab.Ping(t.Context(), client, "10.90.1.61"); err == nil {
		t.Error("the client reaches a port that the policy does not allow")
	}
	if err := lab.Ping(t.Context(), server, outside4); err != nil {
		t.Errorf("egress is not isolated: %v", err)
	}
	if err := lab.Ping(t.Context(), other, server.Status.PodIP); err != nil {
		t.Errorf("the pod network is affected: %v", err)
	}
	// Rules that another program removes are restored.
	netns := namespaceOf(t, "worker-0", "10.90.1.61")
	if _, err := rulesIn(t.Context(), "worker-0", netns, "flush ruleset"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the rules are restored", func(ctx context.Context) error {
		_, err := rulesIn(ctx, "worker-0", netns, "list table inet multi_networkpolicy")
		return err
	})
	kit.Eventually(t, time.Minute, "an event reports it", hasEvent(server, "PolicyRulesRestored"))
	enforcing(t, false)
	kit.Eventually(t, 2*time.Minute, "all rules are removed", func(ctx context.Context) error {
		if out, err := rulesIn(ctx, "worker-0", netns, "list tables"); err != nil || strings.Contains(out, "multi_networkpolicy") {
			return errors.Join(err, errors.New(out))
		}
		_, err := lab.Get(ctx, other, "http://10.90.1.61:8080/hostname")
		return err
	})
	for _, p := range []*corev1.Pod{server, client, other} {
		remove(t, p)
	}
	left(t, "worker-0")
}

// enforcing enables or disables policies, and waits until all daemons are rolled out.
func enforcing(t *testing.T, on bool) {
	t.Helper()
	change := func(s *operatorv1.NetworkSpec) { s.UseMultiNetworkPolicy = &on }
	if on {
		lab.Edit(t, change)
	} else if err := lab.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 4*time.Minute, "the daemons are rolled out", func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "daemonset", "multus", "-n", "openshift-multus", "-o", "jsonpath={.spec.template.spec.containers[*].name}")
		if err == nil && strings.Contains(out, "multi-networkpolicy") != on {
			err = errors.New(out)
		}
		if err == nil {
			_, err = lab.Kubectl(ctx, "rollout", "status", "daemonset/multus", "-n", "openshift-multus", "--timeout=5s")
		}
		return err
	})
}

// namespaceOf returns the network namespace of a node's pod with an address.
func namespaceOf(t *testing.T, node, address string) string {
	t.Helper()
	script := `for n in /run/netns/*; do nsenter --net=$n ip -o address show dev net1 2>/dev/null | grep -q "inet ` + address + `/" && echo $n; done; true`
	out, err := lab.Lab(t.Context(), "exec", node, "--", "sh", "-c", script)
	if err != nil || strings.TrimSpace(out) == "" {
		t.Fatalf("no network namespace has %s: %s %v", address, out, err)
	}
	return strings.TrimSpace(out)
}

// rulesIn runs nft in a network namespace of a node.
func rulesIn(ctx context.Context, node, netns, command string) (string, error) {
	return lab.Lab(ctx, "exec", node, "--", "nsenter", "--net="+netns, "sh", "-c", "nft "+command)
}
