package node_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

// TestNodesLosePower has a node lose everything but its disk while pods of two other nodes exchange packets, and starts it again. The figures are in the table
// of TestKills.
func TestNodesLosePower(t *testing.T) {
	c := governed(t)
	c.node()
	one, two, three := c.nodes[0], c.nodes[1], c.nodes[2]
	three.register()
	three.ready()
	pod := two.governedPod("of-node2")
	w := watch(one, three)
	t.Run("a node", func(t *testing.T) {
		w.during(t, "a node", true, func() { two.losesPower(w.a, pod) })
	})
	pod = w.a // and all others of the control-plane node have ended
	w = watch(two, three)
	t.Run("the control-plane node", func(t *testing.T) {
		w.during(t, "the control-plane node", true, func() { one.losesPower(w.a, pod) })
	})
}

// losesPower ends all processes of a node at once, and removes what is only in its memory: interfaces, routes, rules, network namespaces and the files of
// /run. Then the node starts: the kubelet starts the containers, and the only pod of the node in a new sandbox, which another one waits for.
func (m *machine) losesPower(by, p *pod) {
	m.t.Helper()
	nodetest.Reaches(m.t, by.Namespace, p.addr(), podMTU)
	m.link.Run("ip", "link", "set", m.name, "down")
	off := time.Now()
	for running := m.running(); len(running) > 0; running = m.running() {
		_ = exec.Command("kill", append([]string{"-9"}, running...)...).Run() // some may have ended
	}
	var commands []string
	for command, process := range m.processes {
		eventually.Is(m.t, command+" has ended", process.Ended)
		commands = append(commands, command)
	}
	m.forget(p)
	m.link.Run("ip", "link", "set", m.name, "up")
	on := time.Now()
	for _, command := range commands {
		m.start(command)
	}
	m.ready()
	ready := time.Now()
	former := *p
	p.Namespace = netns.New(m.t, p.name)
	if err := p.add(); err != nil {
		m.t.Fatalf("ADD of a new sandbox: %v", err)
	}
	nodetest.Reaches(m.t, by.Namespace, p.addr(), podMTU)
	m.t.Logf("%s was off for %s, was ready %s after it was on, and its pod answered after another %s", m.name, on.Sub(off).Round(time.Millisecond), ready.Sub(on).Round(time.Millisecond),
		time.Since(ready).Round(time.Millisecond))
	if err := former.del(); err != nil {
		m.t.Errorf("DEL of a sandbox that ended with its node: %v", err)
	}
}

// running returns the processes of the node's containers.
func (m *machine) running() []string {
	out, _ := exec.Command("pgrep", "-f", m.run+"/").Output() // it fails if there is none
	return strings.Fields(string(out))
}

// forget removes what a node and a pod of it have in memory.
func (m *machine) forget(p *pod) {
	m.t.Helper()
	for _, namespace := range []string{p.Namespace.Name, m.vswitchNS} {
		netns.Run(m.t, "ip", "netns", "del", namespace)
	}
	if err := os.RemoveAll(m.run); err != nil {
		m.t.Fatal(err)
	}
	if err := os.MkdirAll(m.run, 0o700); err != nil {
		m.t.Fatal(err)
	}
	m.at.Run("nft", "flush", "ruleset")
	// The kernel removes interfaces whose peers were in the namespaces a little later.
	eventually.Holds(m.t, "all interfaces are removed but those of the machine", func() (string, bool) {
		var links []struct {
			Name string `json:"ifname"`
		}
		if err := json.Unmarshal([]byte(m.at.Run("ip", "-json", "link", "show")), &links); err != nil {
			m.t.Fatal(err)
		}
		for _, l := range links {
			if l.Name != "lo" && l.Name != "eth0" {
				_, _ = m.at.Try("ip", "link", "delete", l.Name) // it may be removed already
			}
		}
		return fmt.Sprint(links), len(links) == 2
	})
}
