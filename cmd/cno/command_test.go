package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func never() bool { return false }

// each calls a function for every command of the tree.
func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		each(sub, f)
	}
}

// helpOf is the help of a command, with the arguments after the program's name.
func helpOf(t *testing.T, name string, words ...string) string {
	t.Helper()
	root := command(name, never)
	var out strings.Builder
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append(words, "--help"))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Errorf("%v --help: %v", words, err)
	}
	return out.String()
}

func TestEveryHelpHasExamplesAndExitStatuses(t *testing.T) {
	each(command("cno", never), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		help := helpOf(t, "cno", words...)
		for _, want := range []string{"\nExit status", "\nExamples:\n", c.UseLine()} {
			if !strings.Contains(help, want) {
				t.Errorf("%s --help has no %q:\n%s", c.CommandPath(), want, help)
			}
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short form %q is to be a phrase", c.CommandPath(), c.Short)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no description", c.CommandPath(), f.Name)
			}
		})
		for line := range strings.Lines(c.Long) {
			if len(line) > 110 {
				t.Errorf("%s: %q is too wide for a terminal", c.CommandPath(), line)
			}
		}
	})
}

// An example that cannot be typed as it stands is worse than none.
func TestExamplesAreValidInvocations(t *testing.T) {
	each(command("cno", never), func(c *cobra.Command) {
		own := 0
		for line := range strings.Lines(c.Example) {
			_, call, ok := strings.Cut(" "+strings.TrimSpace(line), " cno ")
			if !ok {
				if _, call, ok = strings.Cut(line, "(cno "); !ok {
					continue
				}
			}
			call, _, _ = strings.Cut(call, " | ")
			call, _, _ = strings.Cut(call, " > ")
			call, _, _ = strings.Cut(call, " < ")
			root := command("cno", never)
			found, rest, err := root.Find(strings.Fields(strings.Trim(call, ")\n")))
			if err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), call, err)
				continue
			}
			if found.CommandPath() == c.CommandPath() || c.HasSubCommands() {
				own++
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", c.CommandPath(), call, err)
			}
		}
		if own == 0 {
			t.Errorf("%s: no example is a call of it:\n%s", c.CommandPath(), c.Example)
		}
	})
}

// All commands that connect to a cluster have the same flags for it.
func TestClusterFlagsAreTheSameEverywhere(t *testing.T) {
	each(command("cno", never), func(c *cobra.Command) {
		if c.Flags().Lookup("kubeconfig") == nil {
			return
		}
		for _, name := range []string{"context", "namespace"} {
			if c.Flags().Lookup(name) == nil {
				t.Errorf("%s has --kubeconfig and no --%s", c.CommandPath(), name)
			}
		}
		if f := c.Flags().Lookup("output"); f == nil || f.Value.Type() != "format" {
			t.Errorf("%s cannot answer in JSON and YAML", c.CommandPath())
		}
	})
}

func TestPageDocumentsEveryCommand(t *testing.T) {
	root, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "programs", "cno.md"))
	if err != nil {
		t.Fatal(err)
	}
	each(command("cno", never), func(c *cobra.Command) {
		if c.Runnable() && !c.HasSubCommands() && !strings.Contains(string(page), "\n## "+c.CommandPath()+"\n") {
			t.Errorf("docs/programs/cno.md has no section %s", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(string(page), "--"+f.Name) && !strings.Contains(string(page), "`-"+f.Shorthand+" ") {
				t.Errorf("docs/programs/cno.md does not document --%s of %s", f.Name, c.CommandPath())
			}
		})
	})
}

func TestPluginHelpHasTheInvocation(t *testing.T) {
	each(command(plugin, never), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[2:]
		help := helpOf(t, plugin, words...)
		if !strings.Contains(help, "kubectl cno") {
			t.Errorf("%v --help does not name kubectl cno:\n%s", words, help)
		}
		if c.Name() != "completion" && strings.Contains(strings.ReplaceAll(c.Example, "kubectl cno", ""), "cno ") {
			t.Errorf("examples of %v call cno:\n%s", words, c.Example)
		}
	})
}

func TestShellsCompleteCommandsAndValues(t *testing.T) {
	for _, row := range []struct {
		why, want string
		words     []string
	}{
		{"a command", "plan\t", []string{"pl"}},
		{"a value", "yaml\n", []string{"status", "-o", ""}},
		{"a flag", "--kubeconfig", []string{"diff", "--kube"}},
		{"a shell", "zsh", []string{"completion", ""}},
	} {
		root := command(plugin, never)
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(&strings.Builder{})
		root.SetArgs(append([]string{completion}, row.words...))
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), row.want) {
			t.Errorf("%s: %q, %v", row.why, out.String(), err)
		}
	}
}

func TestCompletionScriptForEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		root := command("cno", never)
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs([]string{"completion", shell})
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), completion) {
			t.Errorf("%s: %v\n%s", shell, err, out.String())
		}
	}
}

func TestAMistypedCommandIsSuggested(t *testing.T) {
	root := command("cno", never)
	root.SetArgs([]string{"stauts"})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "status") {
		t.Errorf("got %v", err)
	}
}
