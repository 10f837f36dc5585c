package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/layout"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

func TestUpFlags(t *testing.T) {
	network := filepath.Join(t.TempDir(), "network.yaml")
	if err := os.WriteFile(network, []byte("kind: Network\nspec:\n  serviceNetwork: [172.30.0.0/16]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	options := topology.Options{ControlPlanes: 1, Workers: 1}
	tests := map[string]struct {
		flags upFlags
		want  string
		fails string
	}{
		"without a network file, the lab's services": {upFlags{Options: options, family: "4", network: noNetwork}, "[10.96.0.0/16]", ""},
		"with one, those that it asks for":           {upFlags{Options: options, family: "4", network: network}, "[172.30.0.0/16]", ""},
		"both families":                              {upFlags{Options: options, family: "dual", network: noNetwork}, "[10.96.0.0/16 fd96::/112]", ""},
		"an unknown family":                          {upFlags{Options: options, family: "5", network: noNetwork}, "", `--ip-family: unknown IP family "5"`},
		"a missing file":                             {upFlags{Options: options, family: "4", network: "/no/such/file"}, "", "--network: open /no/such/file"},
		"a file for another family":                  {upFlags{Options: options, family: "6", network: network}, "", "not of the family"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, file, err := tt.flags.topology()
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil || fmt.Sprint(got.ServiceNetwork) != tt.want {
				t.Errorf("services %v, %v, want %s", got.ServiceNetwork, err, tt.want)
			}
			if (file != nil) != (tt.flags.network != noNetwork) {
				t.Errorf("there are %d bytes to apply", len(file))
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	ended := exec.Command("sh", "-c", "exit 7").Run()
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"a command's own, however deep": {fmt.Errorf("sh on worker-0: %w", ended), 7},
		"anything else":                 {errors.New("no lab"), 1},
	} {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestOutsideACheckoutIsAnError(t *testing.T) {
	cmd := Command(lab.Host{})
	cmd.SetArgs([]string{"build"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "inside a checkout") {
		t.Errorf("error %v", err)
	}
}

func TestEveryCommandIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/programs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range Command(lab.Host{Layout: layout.Layout{Root: "/"}}).Commands() {
		if !cmd.Hidden && !strings.Contains(string(page), "lab "+cmd.Name()) {
			t.Errorf("docs/programs/lab.md does not mention lab %s", cmd.Name())
		}
	}
}
