// Package resolve is `cno dayone resolve`: what the captures of a policy find on a host, and the document that follows.
package resolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/thishost"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/hostdocument"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/policy"
	"github.com/cluster-network-operator/cno/internal/output"
)

type options struct {
	files   []string
	current string
	live    bool
	role    string
	host    placement.Host
	this    thishost.Source
	form    output.Format
}

// resolved is the JSON form of the output.
type resolved struct {
	File     string          `json:"file"`
	Captures []policy.Found  `json:"captures"`
	Document json.RawMessage `json:"document"`
}

// New returns the command.
func New() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "resolve [-f] FILE (--current STATE | --live)",
		Short: "Show what captures find on a host, and the document that follows",
		Long: `Evaluates a policy, {capture: {...}, desiredState: {...}}, as a host does at its first boot, and
changes nothing. It prints what each capture finds, and the document that the host applies.

The state of the host is a file, with --current: the output of "nmstatectl show" or of
"cno dayone import --live", or a NodeNetworkState of a cluster (kubectl get nns NODE -o yaml).
With --live it is that of the host on which the command runs; then copy-mac-from, and interfaces
that are identified by an address, are also replaced by their values on that host.

From a directory, a MachineConfig or a HostNetworkConfig, --host and --mac select the file, by the
rule that the node uses. A document without captures is printed unchanged.

Exit status: 0 resolved, 1 a capture or a reference cannot be resolved on that host, 2 the input cannot
be read, or the command line is wrong.`,
		Example: "  cno dayone resolve uplink.yml --current worker-0-state.yml\n" +
			"  kubectl get nns worker-0 -o yaml | cno dayone resolve -f cluster.yml --current -\n" +
			"  cno dayone resolve -f /etc/nmstate/openshift --host $(hostname) --live",
		Args: roles.FileArgs(&o.files),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "a policy, a directory of documents, a MachineConfig or a HostNetworkConfig, - for standard input")
	f.StringVar(&o.current, "current", "", "the state of a host, - for standard input")
	f.BoolVar(&o.live, "live", false, "use the state of the host on which the command runs")
	f.StringVar(&o.role, "role", "", "the role, if the file has several")
	f.StringVar(&o.host.Name, "host", "", "the name of the host, if there are several documents")
	f.StringArrayVar(&o.host.MACs, "mac", nil, "a MAC address of the host; may be repeated")
	o.this.Add(cmd)
	o.form.Add(cmd)
	cmd.MarkFlagsOneRequired("current", "live")
	cmd.MarkFlagsMutuallyExclusive("current", "live")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if len(o.files) > 1 {
		return errors.New("only one policy can be resolved; --host selects one from a directory")
	}
	if o.files[0] == "-" && o.current == "-" {
		return errors.New("standard input can be either the policy or the state, not both")
	}
	file, err := o.file(cmd)
	if err != nil {
		return err
	}
	p, problems := policy.Parse(file.Name, file.Content)
	if p == nil {
		return roles.Print(cmd.ErrOrStderr(), problems)
	}
	state, live, err := o.state(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	captures, wrong := p.Captures(state)
	problems = append(problems, wrong...)
	var doc *nmstate.Document
	if !problems.HasErrors() {
		doc, wrong = p.Fill(captures)
		problems = append(problems, wrong...)
	}
	// Captures are printed also if another one failed: they help to find the cause.
	result := resolved{File: file.Name, Captures: append([]policy.Found{}, captures...)}
	refused := error(nil)
	if doc != nil && live != nil {
		if doc, err = livestate.Concrete(doc, *live); err != nil {
			doc, refused = nil, &exit.Code{Status: exit.Refused, Err: fmt.Errorf("%s: %w", file.Name, err)}
		}
	}
	if doc != nil {
		if result.Document, err = json.Marshal(doc); err != nil {
			return fmt.Errorf("encode document: %w", err)
		}
	}
	if err := o.print(cmd.OutOrStdout(), result); err != nil {
		return err
	}
	if err := roles.Print(cmd.ErrOrStderr(), problems); err != nil {
		return err
	}
	return refused
}

// file returns the policy, or the one of several that is for the host.
func (o *options) file(cmd *cobra.Command) (placement.File, error) {
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin(), Role: o.role}).Read(o.files)
	if err != nil {
		return placement.File{}, err
	}
	if err := roles.Print(cmd.ErrOrStderr(), found.Problems); err != nil {
		return placement.File{}, err
	}
	role, err := roles.One(found, o.role)
	if err != nil {
		return placement.File{}, err
	}
	documents := role.Files.Documents()
	named := o.host.Name != "" || len(o.host.MACs) > 0
	switch {
	case len(documents) == 1 && (found.Plain || !named):
		return documents[0], nil
	case !named:
		return placement.File{}, fmt.Errorf("there are %d documents; name the host with --host or --mac", len(documents))
	}
	for _, mac := range o.host.MACs {
		if _, err := placement.ParseMAC(mac); err != nil {
			return placement.File{}, fmt.Errorf("--mac: %w", err)
		}
	}
	choice, err := placement.Select(role.Files, o.host)
	if err != nil {
		return placement.File{}, &exit.Code{Status: exit.Refused, Err: err}
	}
	if choice.Rule == placement.ByNone {
		return placement.File{}, &exit.Code{Status: exit.Refused, Err: errors.New(choice.Reason)}
	}
	return choice.File, nil
}

// state returns the state in which captures are evaluated. The second result is nil unless it is that of this host.
func (o *options) state(ctx context.Context, stdin io.Reader) (policy.State, *livestate.State, error) {
	if o.live {
		live, err := o.this.Read(ctx)
		if err != nil {
			return policy.State{}, nil, err
		}
		state, err := policy.StateOf(hostdocument.Running(live))
		return state, &live, err
	}
	in := stdin
	if o.current != "-" {
		f, err := os.Open(o.current)
		if err != nil {
			return policy.State{}, nil, fmt.Errorf("read the state of the host: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	content, err := io.ReadAll(io.LimitReader(in, nmstate.MaxSize+1))
	if err != nil {
		return policy.State{}, nil, fmt.Errorf("read the state of the host: %w", err)
	}
	state, err := policy.ParseState(content)
	if err != nil {
		return policy.State{}, nil, fmt.Errorf("--current %s: %w", o.current, err)
	}
	return state, nil, nil
}

// print writes the captures as comments above the document, so that the output as a whole is the document.
func (o *options) print(w io.Writer, result resolved) error {
	if !o.form.ForPeople() {
		return o.form.Write(w, result)
	}
	var out strings.Builder
	for _, c := range result.Captures {
		fmt.Fprintf(&out, "# capture %s\n", c.Name)
		if c.Value == nil {
			out.WriteString("#   nothing\n")
			continue
		}
		text, err := yaml.Marshal(c.Value)
		if err != nil {
			return fmt.Errorf("encode capture %s: %w", c.Name, err)
		}
		for line := range strings.Lines(string(text)) {
			out.WriteString("#   " + line)
		}
	}
	if result.Document != nil {
		text, err := yaml.JSONToYAML(result.Document)
		if err != nil {
			return fmt.Errorf("encode document: %w", err)
		}
		out.Write(text)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
