package northbound_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
)

// text writes rows so that equal rows are equal text: sets have no order.
func text(rows map[ovsdb.Ref]ovsdb.Desired) string {
	var lines []string
	for ref, row := range rows {
		line := ref.String()
		for _, column := range slices.Sorted(maps.Keys(row.Columns)) {
			value := fmt.Sprint(row.Columns[column])
			if set, ok := row.Columns[column].(ovsdb.Set); ok {
				var members []string
				for _, m := range set {
					members = append(members, fmt.Sprint(m))
				}
				slices.Sort(members)
				value = strings.Join(members, " ")
			}
			line += "\n    " + column + " " + value
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func byRef(rows []ovsdb.Desired) map[ovsdb.Ref]ovsdb.Desired {
	out := map[ovsdb.Ref]ovsdb.Desired{}
	for _, r := range rows {
		out[r.Ref] = r
	}
	return out
}

// TestStepsProduceTheSameStateAsRows changes one object of a random cluster after the other, and compares what the reported changes add up to with
// the rows of all objects.
func TestStepsProduceTheSameStateAsRows(t *testing.T) {
	c := chance{rand.New(rand.NewPCG(11, 12))}
	in := policyCluster()
	s := northbound.NewState(in.Cluster)
	nodes, namespaces := map[string]northbound.Node{}, map[string]netpolicy.Namespace{}
	pods, services := map[netpolicy.ID]northbound.Pod{}, map[string]northbound.Service{}
	policies := map[string]int{}
	have := map[ovsdb.Ref]ovsdb.Desired{}
	for step := range 1500 {
		now := northbound.Input{Cluster: in.Cluster}
		switch c.IntN(5) {
		case 0:
			n := pick(c, in.Nodes...)
			if _, exists := nodes[n.Name]; exists && c.IntN(3) == 0 {
				delete(nodes, n.Name)
				s.DeleteNode(n.Name)
			} else {
				nodes[n.Name] = n
				s.SetNode(n)
			}
		case 1:
			n := pick(c, in.Namespaces...)
			if _, exists := namespaces[n.Name]; exists && c.IntN(3) == 0 {
				delete(namespaces, n.Name)
				s.DeleteNamespace(n.Name)
			} else {
				n.Labels = map[string]string{"team": pick(c, "a", "b")}
				namespaces[n.Name] = n
				s.SetNamespace(n)
			}
		case 2:
			p := pick(c, in.Pods...)
			if _, exists := pods[p.ID]; exists && c.IntN(3) == 0 {
				delete(pods, p.ID)
				s.DeletePod(p.ID)
				break
			}
			p.Labels = map[string]string{"app": pick(c, "web", "db", "other")}
			p.Node, p.Ended = pick(c, "node1", "node2", "without"), c.IntN(6) == 0
			if c.IntN(6) == 0 {
				p.Addresses = nil
			}
			pods[p.ID] = p
			s.SetPod(p)
		case 3:
			name := pick(c, "x", "y", "z")
			if _, exists := services[name]; exists && c.IntN(3) == 0 {
				delete(services, name)
				s.DeleteService(netpolicy.ID{Namespace: "one", Name: name})
				break
			}
			services[name] = randomService(c, name)
			s.SetService(services[name])
		case 4:
			p := c.policy(c.IntN(4))
			key := p.Namespace + "/" + p.Name
			if _, exists := policies[key]; exists && c.IntN(3) == 0 {
				delete(policies, key)
				s.DeletePolicy(netpolicy.ID{Namespace: p.Namespace, Name: p.Name})
			} else {
				policies[key] = len(in.Policies)
				s.SetPolicy(p)
			}
			in.Policies = append(in.Policies, p)
		}
		changed, removed := s.Changes()
		maps.Copy(have, byRef(changed))
		for _, r := range removed {
			delete(have, r)
		}
		now.Nodes, now.Namespaces = slices.Collect(maps.Values(nodes)), slices.Collect(maps.Values(namespaces))
		now.Pods, now.Services = slices.Collect(maps.Values(pods)), slices.Collect(maps.Values(services))
		for _, i := range policies {
			now.Policies = append(now.Policies, in.Policies[i])
		}
		rows, _ := northbound.Rows(now)
		if want, got := text(byRef(rows)), text(have); want != got {
			t.Fatalf("after step %d the rows are\n%s\nwant\n%s", step, got, want)
		}
	}
}

func randomService(c chance, name string) northbound.Service {
	var ends []end
	for range c.IntN(3) {
		ends = append(ends, end{address: pick(c, "10.128.2.3", "10.128.2.4", "fd01:0:0:1::3"), node: pick(c, "node1", "node2"), notReady: c.IntN(3) == 0, serving: true, terminating: true})
	}
	return service(name, pick(c, "TCP", "UDP"), func(s *corev1.Service) {
		if c.IntN(2) == 0 {
			s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		}
		if c.IntN(3) == 0 {
			s.Spec.ExternalIPs = []string{"192.0.2.1"}
		}
	}, pick(c, []string{"172.30.0.1"}, []string{"172.30.0.1", "fd02::1"}, []string{"None"}), ends...)
}
