package pause

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// call runs a command against the test's API server, and returns what it prints and its exit status.
func call(t *testing.T, cmd *cobra.Command, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", apitest.Shared(t).Kubeconfig))
	err := cmd.ExecuteContext(t.Context())
	status := exit.Report(&out, "cno", err)
	return out.String(), status
}

func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func TestPauseHasUserTimeAndReason(t *testing.T) {
	server := apitest.Shared(t)
	if out, status := call(t, New(now)); status != exit.Refused || !strings.Contains(out, "there is no Network/cluster") {
		t.Errorf("without a network: %d %s", status, out)
	}
	n := &operatorv1.Network{Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}}
	n.Name = operatorv1.NetworkName
	n.Annotations = map[string]string{"of": "others"}
	server.Create(t, n)
	annotations := func() map[string]string {
		t.Helper()
		var live operatorv1.Network
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(n), &live); err != nil {
			t.Fatal(err)
		}
		return live.Annotations
	}
	out, status := call(t, New(now), "--reason", "switches are replaced")
	if a := annotations(); status != exit.OK || !strings.Contains(out, "Paused by ") || a[pipeline.PausedAnnotation] != "true" || a[pipeline.PausedByAnnotation] == "" ||
		a[pipeline.PausedAtAnnotation] != "2026-01-02T03:04:05Z" || a[pipeline.PausedReasonAnnotation] != "switches are replaced" {
		t.Fatalf("%d %s %v", status, out, a)
	}
	// A second pause replaces the user and the reason.
	out, status = call(t, New(now), "-o", "json")
	var s state
	if err := json.Unmarshal([]byte(out), &s); err != nil || status != exit.OK || !s.Paused || s.Reason != "" {
		t.Errorf("%d %s %v", status, out, err)
	}
	if _, stale := annotations()[pipeline.PausedReasonAnnotation]; stale {
		t.Error("the reason of a third party's pause is left")
	}
	out, status = call(t, NewResume())
	if a := annotations(); status != exit.OK || !strings.Contains(out, "is resumed. It had been paused by") || len(a) != 1 {
		t.Errorf("%d %s %v", status, out, a)
	}
	if out, status := call(t, NewResume()); status != exit.OK || !strings.Contains(out, "not paused") {
		t.Errorf("%d %s", status, out)
	}
}

func TestAClusterThatDoesNotAnswerIsUnusable(t *testing.T) {
	cmd := New(now)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"--kubeconfig", t.TempDir() + "/none"})
	err := cmd.ExecuteContext(t.Context())
	if _, coded := errors.AsType[*exit.Code](err); err == nil || coded {
		t.Errorf("%v", err)
	}
}
