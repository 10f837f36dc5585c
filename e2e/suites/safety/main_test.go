// Package safety tests changes of a network in use: unsafe ones are refused, the effect of an edit is previewed, and a failed rollout stops,
// is reported, and can be rolled back. The tests share one lab, one after the other; each restores the network.
package safety

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

var lab *kit.Kit

func TestMain(m *testing.M) { os.Exit(kit.Main(m, &lab, "network-flannel.yaml")) }

// network is a configuration of the lab's network, with more lines in its spec and in flannel's settings.
func network(spec, flannel string) string {
	text := `apiVersion: operator.openshift.io/v1
kind: Network
metadata:
  name: cluster
spec:
` + spec + `  clusterNetwork:
  - cidr: 10.244.0.0/16
    hostPrefix: 24
  serviceNetwork:
  - 10.96.0.0/16
  defaultNetwork:
    type: Flannel
`
	if flannel != "" {
		text += "    flannelConfig: {" + flannel + "}\n"
	}
	return text
}

// cno runs cno, and fails the test unless it has the expected exit status.
func cno(t *testing.T, status int, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, got, err := lab.CNO(ctx, input, args...)
	if err != nil {
		t.Fatal(err)
	}
	if got != status {
		t.Fatalf("cno %v ends with status %d, want %d:\n%s", args, got, status, out)
	}
	return out
}

// back restores the network with which the lab was created.
func back(t *testing.T) {
	t.Cleanup(func() {
		plan := planned(t, network("", ""))
		args := []string{"apply", "-f", "-", "--force-conflicts", "--watch"}
		if plan.Acknowledgement != "" {
			args = append(args, "--acknowledge", plan.Acknowledgement)
		}
		cno(t, 0, network("", ""), args...)
	})
}
