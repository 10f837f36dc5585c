package network

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// install reinstalls the network after a test that removed it.
func install(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := lab.ReinstallOperator(ctx); err != nil {
		t.Fatal(err)
	}
	output := &strings.Builder{}
	if err := kit.Run(ctx, output, network.Apply(lab)); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// allow acknowledges that an object of a network in use may be deleted.
func allow(t *testing.T, kind, name string, flags ...string) {
	t.Helper()
	kubectl(t, append([]string{"annotate", kind, name, kit.AllowDeletion + "=true"}, flags...)...)
}

func TestUninstalledInAnyOrder(t *testing.T) {
	kit.Full(t)
	definition := "networks.operator.openshift.io"
	for _, row := range []struct {
		why     string
		by      func(t *testing.T)
		flags   []string
		unclean bool
	}{
		{why: "nothing was begun", by: func(*testing.T) {}},
		{why: "kubectl delete of the installation", by: func(t *testing.T) {
			out, err := lab.Kubectl(t.Context(), "delete", "--wait=false", "-k", filepath.Join(lab.Installation(), "lab"))
			if err == nil || !strings.Contains(err.Error()+out, "run: cno uninstall") {
				t.Errorf("the deletion is not refused: %v\n%s", err, out)
			}
		}},
		{why: "the network first, then the operator", by: func(t *testing.T) {
			allow(t, definition, "cluster")
			kubectl(t, "delete", definition, "cluster")
			allow(t, "deployment", "network-operator", "-n", kit.OperatorNamespace)
			kubectl(t, "-n", kit.OperatorNamespace, "delete", "deployment", "network-operator")
		}},
		{why: "the definitions first", by: func(t *testing.T) {
			allow(t, "crd", definition)
			kubectl(t, "delete", "crd", definition)
		}},
		{why: "the operator's namespace first, and all records with it", flags: []string{"--force"}, unclean: true, by: func(t *testing.T) {
			allow(t, "namespace", kit.OperatorNamespace)
			kubectl(t, "delete", "namespace", kit.OperatorNamespace)
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.by(t)
			out := cno(t, 0, append([]string{"uninstall", "--yes"}, row.flags...)...)
			gone(t)
			if row.unclean {
				if !strings.Contains(out, "what DaemonSet "+network.Agents()[0].String()+" created") {
					t.Errorf("the output does not list what stays on nodes:\n%s", out)
				}
			} else {
				clean(t)
			}
			if out := cno(t, 0, "uninstall"); !strings.Contains(out, "nothing to delete") {
				t.Errorf("a second invocation prints:\n%s", out)
			}
			install(t)
		})
	}
}

// gone fails the test if an object of the operator is left.
func gone(t *testing.T) {
	t.Helper()
	for _, kinds := range []string{"namespaces", "clusterroles", "clusterrolebindings", "crds", "validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
		for line := range strings.Lines(kubectl(t, "get", kinds, "-o", "name")) {
			for _, part := range []string{"cluster-network-operator", "openshift", "host-network", "kube-proxy", strings.ToLower(string(network.Type))} {
				if strings.Contains(line, part) && !strings.Contains(line, "system:") {
					t.Errorf("%s is left", strings.TrimSpace(line))
				}
			}
		}
	}
	if out := kubectl(t, "get", "daemonsets,deployments,configmaps", "-A", "-l", "app.kubernetes.io/managed-by=cluster-network-operator", "-o", "name"); out != "" {
		t.Errorf("%s is left", out)
	}
}

// clean fails the test if anything of the network is left on a node.
func clean(t *testing.T) {
	t.Helper()
	commands := []string{network.Left}
	for _, file := range network.Files() {
		// Directories that are mounted into agents stay, empty.
		commands = append(commands, "find "+file+" -not -type d 2>/dev/null")
	}
	if !network.Traits().ServiceProxy {
		commands = append(commands, "nft list tables | grep kube-proxy")
	}
	script := strings.Join(append(commands, "true"), "\n")
	for _, node := range []string{"cp-0", "worker-0", "worker-1"} {
		out, err := lab.Lab(t.Context(), "exec", node, "--", "sh", "-c", script)
		if err != nil {
			t.Fatal(err)
		}
		if out = strings.TrimSpace(out); out != "" {
			t.Errorf("on %s are left\n%s", node, out)
		}
	}
}

func TestPausedUntilResumed(t *testing.T) {
	out := cno(t, 0, "pause", "--reason", "a test")
	if !strings.Contains(out, "Paused by ") {
		t.Errorf("pause prints:\n%s", out)
	}
	t.Cleanup(func() {
		if out := cno(t, 0, "resume"); !strings.Contains(out, "had been paused by") {
			t.Errorf("resume prints:\n%s", out)
		}
		if err := kit.Poll(context.Background(), time.Minute, lab.Settled); err != nil {
			t.Error(err)
		}
	})
	kit.Eventually(t, time.Minute, "the condition has the cause", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Upgradeable", "False", "Paused", "by ", "a test")
	})
	agent := network.Agents()[0]
	kubectl(t, "-n", agent.Namespace, "annotate", "daemonset", agent.Name, "kubernetes.io/description=by-hand", "--overwrite")
	time.Sleep(3 * time.Second) // a repair would come within one
	if got := kubectl(t, "-n", agent.Namespace, "get", "daemonset", agent.Name, "-o", `jsonpath={.metadata.annotations.kubernetes\.io/description}`); got != "by-hand" {
		t.Errorf("the operator restored the object during the pause: %q", got)
	}
}
