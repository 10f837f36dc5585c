package node_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// TestClientsKeepTheirEndpoint: with ClientIP affinity, connections of one client go to one endpoint while it exists, and those of different
// clients to different ones, in both IP families.
func TestClientsKeepTheirEndpoint(t *testing.T) {
	c := running(t)
	one := c.nodes[0]
	router := topology.RouterPort(one.name)
	c.nbctl("set", "Logical_Router_Port", router, fmt.Sprintf("networks=%q,%q", topology.RouterAddress(one.blocks[one.name]), "fd01::1/64"))
	all := map[string]*pod{}
	var targets, targets6, clients []string
	for _, name := range []string{"x", "y", "c1", "c2", "c3", "c4", "c5", "c6"} {
		p := one.pod(name)
		all[name] = p
		six := sixth(p)
		addresses := fmt.Sprintf("%s %s %s", p.given.MAC, p.addr(), six)
		c.nbctl("lsp-set-addresses", p.port(), addresses, "--", "lsp-set-port-security", p.port(), addresses)
		p.Run("ip", "address", "add", six.String()+"/64", "dev", "eth0", "nodad")
		p.Run("ip", "route", "add", "fd02::/112", "via", "fd01::1")
		if len(name) > 1 {
			clients = append(clients, name)
			continue
		}
		serveName(t, p)
		targets, targets6 = append(targets, p.addr().String()+":8080"), append(targets6, "["+six.String()+"]:8080")
	}
	fields := affinityFields(t)
	balance := func(n int) {
		for name, vip := range map[string][2]string{"four": {"172.30.0.10:80", strings.Join(targets[:n], ",")}, "six": {"[fd02::10]:80", strings.Join(targets6[:n], ",")}} {
			c.nbctl("--may-exist", "lb-add", name, vip[0], vip[1], "tcp", "--", "--may-exist", "ls-lb-add", one.name, name)
			c.nbctl("set", "Load_Balancer", name, "selection_fields="+fields, "options:ct_flush=true")
		}
		c.nbctl("--timeout=60", "--wait=hv", "sync")
	}
	balance(2)
	for _, vip := range []string{"172.30.0.10:80", "[fd02::10]:80"} {
		used := map[string]int{}
		for _, name := range clients {
			first := answered(t, all[name], vip)
			for range 8 {
				if got := answered(t, all[name], vip); got != first {
					t.Errorf("%s: client %s got endpoint %s after %s", vip, name, got, first)
				}
			}
			used[first]++
		}
		if len(used) != 2 {
			t.Errorf("%s: all clients have one endpoint: %v", vip, used)
		}
	}
	balance(1) // y is no endpoint any more
	for _, vip := range []string{"172.30.0.10:80", "[fd02::10]:80"} {
		for _, name := range clients {
			eventually.Holds(t, "the endpoint that remains serves client "+name, func() (string, bool) {
				got, err := ask(all[name], vip)
				return fmt.Sprint(got, err), got == "x"
			})
		}
	}
}

// sixth is the IPv6 address of a pod in this test.
func sixth(p *pod) netip.Addr {
	return netip.MustParseAddr(fmt.Sprintf("fd01::%x", p.addr().As4()[3]))
}

// affinityFields are the fields that the master has of a Service with ClientIP affinity.
func affinityFields(t *testing.T) string {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "sticky"}, Spec: corev1.ServiceSpec{
		ClusterIP: "172.30.0.10", SessionAffinity: corev1.ServiceAffinityClientIP, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	rows, _ := northbound.Rows(northbound.Input{Services: []northbound.Service{{Service: service}}})
	for _, row := range rows {
		if fields, ok := row.Columns["selection_fields"].(ovsdb.Set); ok {
			var texts []string
			for _, f := range fields {
				texts = append(texts, fmt.Sprint(f))
			}
			return strings.Join(texts, ",")
		}
	}
	t.Fatal("the Service has no load balancer")
	return ""
}

// serveName answers connections to port 8080 of a pod with its name.
func serveName(t *testing.T, p *pod) {
	t.Helper()
	var listener net.Listener
	if err := ns.WithNetNSPath(p.Path(), func(ns.NetNS) (err error) { listener, err = net.Listen("tcp", ":8080"); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			_, _ = io.WriteString(conn, p.name) // the client sees what is missing
			_ = conn.Close()
		}
	}()
}

// ask returns the name of the endpoint that answers a pod.
func ask(p *pod, vip string) (name string, err error) {
	var conn net.Conn
	if err := ns.WithNetNSPath(p.Path(), func(ns.NetNS) (err error) {
		conn, err = net.DialTimeout("tcp", vip, 5*time.Second)
		return err
	}); err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// answered is ask until there is an answer: flows may not be installed yet.
func answered(t *testing.T, p *pod, vip string) (name string) {
	t.Helper()
	eventually.Holds(t, "an endpoint answers "+p.name, func() (string, bool) {
		var err error
		name, err = ask(p, vip)
		return fmt.Sprint(err), err == nil && name != ""
	})
	return name
}
