package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// Files of bundles: bundleLog has a line for each bundle; while killBefore or killAfter exists, the agent is killed before or after its next bundle.
const (
	bundleLog  = "bundles"
	killBefore = "kill-before"
	killAfter  = "kill-after"
)

// recordBundles has the agent use an ovs-ofctl that records bundles from the agent's next start.
func (m *machine) recordBundles(t *testing.T) {
	t.Helper()
	real, err := exec.LookPath("ovs-ofctl")
	if err != nil {
		t.Fatal(err)
	}
	m.tools = t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in
*--bundle*) ;;
*) exec %[1]s "$@" ;;
esac
if [ -e %[2]s/%[4]s ]; then kill -9 $PPID; exit 1; fi
%[1]s "$@"
status=$?
echo "$*" >>%[2]s/%[3]s
if [ -e %[2]s/%[5]s ]; then kill -9 $PPID; fi
exit $status
`, real, m.tools, bundleLog, killBefore, killAfter)
	if err := os.WriteFile(filepath.Join(m.tools, "ovs-ofctl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

// bundles returns how many bundles the agents of the node have applied since recordBundles.
func (m *machine) bundles(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.tools, bundleLog))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// killAtNextBundle has the agent killed before or after it applies its next bundle. The returned function waits for that.
func (m *machine) killAtNextBundle(t *testing.T, when string) (killed func()) {
	t.Helper()
	file := filepath.Join(m.tools, when)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		eventually.Holds(t, "the agent of "+m.name+" is killed", func() (string, bool) { return m.agent.Log(), m.agent.Ended() })
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// savedIsolation reports whether a policy isolates a pod in the flows that the agent has saved.
func (m *machine) savedIsolation(t *testing.T, p *pod) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.config.StateDir, "flows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var saved struct{ Flows string }
	if err := json.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	isolation := regexp.MustCompile(`table=80,priority=100,.*nw_dst=` + regexp.QuoteMeta(p.address.String()) + `[, ]`)
	return isolation.MatchString(saved.Flows)
}

// TestAgentKilledBesideTheBundle: an agent that is killed just before or after it applies flows has saved them. Its successor, which does not reach the API server,
// applies them: it neither admits what a new policy denies nor denies what is allowed again.
func TestAgentKilledBesideTheBundle(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	one.recordBundles(t)
	one.agent.Kill()
	one.startAgent()
	one.ready()
	server, client := one.pod("one", "server", nil), two.pod("two", "client", nil)
	near, far := one.pod("two", "near", nil), two.pod("two", "far", nil)
	nodetest.Serve(t, server.Namespace, ":8080")
	at := fmt.Sprint(server.address, ":8080")
	nodetest.Answers(t, client.Namespace, at)
	for _, when := range []string{killBefore, killAfter} {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}}
		for _, row := range []struct {
			change string
			make   func()
			open   bool
		}{
			{"a policy is created", func() { c.create(policy) }, false},
			{"the policy is deleted", func() {
				if err := c.client.Delete(t.Context(), policy); err != nil {
					t.Fatal(err)
				}
			}, true},
		} {
			killed := one.killAtNextBundle(t, when)
			row.make()
			killed()
			// The next bundle may have been another one, such as that of a new connection to ovs-vswitchd.
			for attempt := 1; one.savedIsolation(t, server) == row.open; attempt++ {
				if attempt == 5 {
					t.Fatalf("%s, %s: %d agents that were killed had not saved the flows of the change", row.change, when, attempt)
				}
				killed = one.killAtNextBundle(t, when)
				one.startAgent()
				killed()
			}
			connect := one.disconnect(t)
			before := one.bundles(t)
			one.startAgent()
			eventually.Holds(t, "the next agent applies flows", func() (string, bool) { n := one.bundles(t); return fmt.Sprint(n), n > before })
			limit := 3 * time.Second
			if row.open {
				limit = eventually.Limit
			}
			if answer, err := nodetest.Ask(client.Namespace, at, limit); (err == nil) != row.open {
				t.Errorf("%s, %s: the answer of the pod is %q, %v", row.change, when, answer, err)
			}
			nodetest.Reaches(t, near.Namespace, far.address, podMTU)
			connect()
			one.ready()
		}
	}
}
