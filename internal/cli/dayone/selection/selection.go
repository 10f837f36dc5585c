// Package selection is `cno dayone select`: which file configures a host, and why.
package selection

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/output"
)

// chosen is the JSON form of a choice.
type chosen struct {
	Host     string         `json:"host"`
	File     string         `json:"file,omitempty"`
	Rule     placement.Rule `json:"rule"`
	Reason   string         `json:"reason"`
	Warnings []string       `json:"warnings,omitempty"`
}

type options struct {
	dir, file, role string
	form            output.Format
	host            placement.Host
	show            bool
}

// New returns the command.
func New() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "select --host NAME (--dir DIR | -f FILE [--role ROLE])",
		Short: "Show which file configures a host, and why",
		Long: `Selects as the node does: the file of the host's full name, else of its short name, else the one
that hosts-by-mac.json assigns to one of its MAC addresses, else cluster.yml, else none. The file
is used as a whole; nothing is merged.

Exit status: 0 a file is selected, or none applies, which is printed; 1 the files contradict one
another; 2 they cannot be read, or the command line is wrong.`,
		Example: "  cno dayone select --dir /etc/nmstate/openshift --host master-0\n" +
			"  cno dayone select -f 10-br-ex-master.yaml --host master-0.example.com --show",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "", "a directory as "+placement.Dir+" on a node")
	f.StringVarP(&o.file, "file", "f", "", "a MachineConfig or a HostNetworkConfig, - for standard input")
	f.StringVar(&o.role, "role", "", "the role, if the file has several")
	f.StringVar(&o.host.Name, "host", "", "the name of the host, short or full; empty for one without a name")
	f.StringArrayVar(&o.host.MACs, "mac", nil, "a MAC address of the host; may be repeated")
	f.BoolVar(&o.show, "show", false, "also print the content of the file")
	o.form.Add(cmd)
	cmd.MarkFlagsOneRequired("dir", "file")
	cmd.MarkFlagsMutuallyExclusive("dir", "file")
	cmd.MarkFlagsOneRequired("host", "mac")
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	files, err := o.files(cmd)
	if err != nil {
		return err
	}
	for _, mac := range o.host.MACs {
		if _, err := placement.ParseMAC(mac); err != nil {
			return fmt.Errorf("--mac: %w", err)
		}
	}
	choice, err := placement.Select(files, o.host)
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return o.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), choice)
}

func (o *options) files(cmd *cobra.Command) (placement.Files, error) {
	if o.dir != "" {
		if _, err := os.Stat(o.dir); err != nil {
			return nil, fmt.Errorf("read directory: %w", err)
		}
		return placement.ReadDir(os.DirFS(o.dir))
	}
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin(), Role: o.role}).Read([]string{o.file})
	if err != nil {
		return nil, err
	}
	if err := roles.Print(cmd.ErrOrStderr(), found.Problems); err != nil {
		return nil, err
	}
	if found.Plain {
		return nil, &exit.Code{Status: exit.Refused, Err: fmt.Errorf("%s is a document, or not YAML, and contains no files to select from; give its directory with --dir, a MachineConfig or a HostNetworkConfig", o.file)}
	}
	role, err := roles.One(found, o.role)
	return role.Files, err
}

func (o *options) print(stdout, stderr io.Writer, choice placement.Choice) error {
	if !o.form.ForPeople() {
		return o.form.Write(stdout, chosen{o.host.Name, choice.File.Name, choice.Rule, choice.Reason, choice.Warnings})
	}
	for _, warning := range choice.Warnings {
		if _, err := fmt.Fprintln(stderr, "warning:", warning); err != nil {
			return err
		}
	}
	name, reason := choice.File.Name, choice.Reason
	if choice.Rule == placement.ByNone {
		name, reason = "none", reason+"; the host creates "+placement.Bridge+" automatically"
	}
	if _, err := fmt.Fprintf(stdout, "%s: %s\n", name, reason); err != nil {
		return err
	}
	if o.show {
		_, err := stdout.Write(choice.File.Content)
		return err
	}
	return nil
}
