package agent

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/internal/version"
)

type config struct {
	Bridge string `json:"bridge"`
}

func (c config) Validate() field.ErrorList {
	return agentfile.ValidateInterface(field.NewPath("bridge"), c.Bridge)
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return name
	}
	good := file("good.json", `{"bridge":"toy0"}`)
	plugins, target := filepath.Join(dir, "plugins"), filepath.Join(dir, "bin")
	for _, d := range []string{plugins, target} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file("plugins/toy", "program")
	for _, tt := range []struct {
		reason, arguments string
		calls             string
		problem           string
	}{
		{"its main job", "run --config=" + good, "run toy0 on node1", ""},
		{"the default file", "run", "run toy0 on node1", ""},
		{"another agent of the program", "more --config=" + good, "more toy0 on node1", ""},
		{"another agent without a file, which has the defaults", "more --config=/none", "more  on node1", ""},
		{"a flag of the main job", "run --color=red", "run toy0 on node1 in red", ""},
		{"which is no flag of others", "more --color=red", "", "unknown flag"},
		{"cleanup", "cleanup --config=" + good, "cleanup toy0", ""},
		{"a file that is missing", "run --config=/none", "", "read configuration: open /none"},
		{"an unknown field", "run --config=" + file("unknown.json", `{"bride":"toy0"}`), "", "decode toy.json"},
		{"an invalid value", "cleanup --config=" + file("bad.json", `{"bridge":"a/b"}`), "", `bad.json is not valid: bridge: Invalid value: "a/b"`},
		{"an unknown level", "run --log-level=loud", "", "loud"},
		{"too many arguments", "run more", "", "unknown command"},
		{"plugins", "install-cni --from=" + plugins + " --to=" + target, "", ""},
		{"no plugins", "install-cni --from=" + target + "/none --to=" + target, "", "read directory of plugins"},
	} {
		calls, color := "", ""
		p := Program[config]{
			Name: "toy", Node: "node1", ConfigFile: good, RunShort: "Run",
			Decode: func(data []byte) (config, error) { return agentfile.Decode("toy.json", data, config{}) },
			Run: func(_ context.Context, p Process, c config) error {
				calls = "run " + c.Bridge + " on " + p.Node
				if color != "" {
					calls += " in " + color
				}
				return nil
			},
			RunFlags: func(flags *pflag.FlagSet) { flags.StringVar(&color, "color", "", "") },
			Subcommands: []Subcommand[config]{{Name: "more", Short: "Do more", Optional: true, Run: func(_ context.Context, p Process, c config) error {
				calls = "more " + c.Bridge + " on " + p.Node
				return nil
			}}},
			Cleanup: func(_ context.Context, c config) error { calls = "cleanup " + c.Bridge; return nil },
		}
		cmd := p.command(slog.New(slog.DiscardHandler), &slog.LevelVar{})
		cmd.SetArgs(strings.Fields(tt.arguments))
		cmd.SetOut(io.Discard)
		err := cmd.ExecuteContext(t.Context())
		if calls != tt.calls || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s: it does %q, %v", tt.reason, calls, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(target, "toy")); err != nil || string(data) != "program" {
		t.Errorf("the plugin: %q, %v", data, err)
	}
	var out strings.Builder
	cmd := Program[config]{Name: "toy"}.command(slog.New(slog.DiscardHandler), &slog.LevelVar{})
	cmd.SetArgs([]string{"version"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil || out.String() != version.String()+"\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
