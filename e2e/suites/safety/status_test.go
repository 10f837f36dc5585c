package safety

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// row is a row of the table that cno status prints; "" stands for any value, the message has all of the words.
type row struct {
	name, available, progressing, degraded, version string
	message                                         []string
}

var gap = regexp.MustCompile(` {2,}`)

// is returns an error if the row is not in a table.
func (r row) is(table string) error {
	for line := range strings.Lines(table) {
		cells := gap.Split(strings.TrimSpace(line), 7)
		if cells[0] != r.name || len(cells) < 6 {
			continue
		}
		for i, want := range []string{r.name, r.available, r.progressing, r.degraded, r.version} {
			if want != "" && cells[i] != want {
				return fmt.Errorf("%s: column %d is %q, want %q", r.name, i+1, cells[i], want)
			}
		}
		text := strings.Join(cells[6:], "")
		if i := slices.IndexFunc(r.message, func(word string) bool { return !strings.Contains(text, word) }); i >= 0 {
			return fmt.Errorf("%s: the message does not contain %q: %q", r.name, r.message[i], text)
		}
		return nil
	}
	return fmt.Errorf("the row %s is missing", r.name)
}

// shows waits until cno status has an exit status and prints some rows, and logs the table.
func shows(t *testing.T, limit time.Duration, status int, rows ...row) {
	t.Helper()
	var table string
	err := kit.Poll(t.Context(), limit, func(ctx context.Context) error {
		out, got, err := lab.CNO(ctx, "", "status")
		if err != nil {
			return err
		}
		if table = out; got != status {
			return fmt.Errorf("the exit status is %d, want %d", got, status)
		}
		for _, r := range rows {
			if err := r.is(out); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, table)
	}
	t.Logf("exit status %d\n%s", status, table)
}

// withShortDeadline sets the deadline of rollouts to half a minute, and restores the network when the test ends.
func withShortDeadline(t *testing.T, spec string) {
	t.Helper()
	back(t)
	cno(t, 0, network("  rollout: {progressDeadlineSeconds: 30}\n"+spec, ""), "apply", "-f", "-", "--force-conflicts")
}

func TestStatusOfAHealthyClusterHasARowForEachComponent(t *testing.T) {
	var rows []row
	for _, name := range []string{"operator", "network", "Flannel", "KubeProxy", "NetworkDiagnostics"} {
		rows = append(rows, row{name: name, available: "True", progressing: "False", degraded: "False", version: "v0.1.0"})
	}
	rows[0].degraded = "" // the row of the operator has it when there is a problem
	shows(t, 2*time.Minute, 0, rows...)
}

func TestStatusHasTheReasonOfACrash(t *testing.T) {
	kit.Full(t)
	// A figure that kube-proxy takes and then cannot set, in its init container: no pod here may write it.
	withShortDeadline(t, "  kubeProxyConfig: {proxyArguments: {conntrack-max-per-core: [\"32768\"]}}\n")
	why := []string{`DaemonSet "openshift-kube-proxy/openshift-kube-proxy"`, "on node ", "is in CrashLoopBackOff State (container init ended with exit code 1", "nf_conntrack_max"}
	shows(t, 3*time.Minute, 1,
		row{name: "network", available: "True", progressing: "True", degraded: "True", message: why},
		row{name: "KubeProxy", available: "True", progressing: "True", degraded: "True", message: why},
		row{name: "Flannel", available: "True", progressing: "False", degraded: "False", version: "v0.1.0"})
}

func TestStatusNamesTheInvalidImage(t *testing.T) {
	kit.Full(t)
	withShortDeadline(t, "")
	upgrade(t, broken)
	why := []string{`DaemonSet "openshift-flannel/flanneld"`, "on node ", "is in ImagePullBackOff State", broken}
	shows(t, 3*time.Minute, 1,
		row{name: "network", available: "True", progressing: "True", degraded: "True", message: why},
		row{name: "Flannel", available: "True", progressing: "True", degraded: "True", message: why},
		row{name: "KubeProxy", available: "True", progressing: "False", degraded: "False", version: "v0.1.0"})
}

func TestStatusNamesAStoppedNode(t *testing.T) {
	if _, err := lab.Lab(t.Context(), "stop", "worker-1"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if _, err := lab.Lab(ctx, "start", "worker-1"); err != nil {
			t.Error(err)
		}
		if err := kit.Poll(ctx, 2*time.Minute, lab.Settled); err != nil {
			t.Error(err)
		}
	})
	shows(t, 3*time.Minute, 0,
		row{name: "network", available: "True", progressing: "False", degraded: "False", version: "v0.1.0", message: []string{"1 of 3 nodes do not answer: worker-1"}},
		row{name: "Flannel", available: "True", progressing: "False", degraded: "False"})
}
