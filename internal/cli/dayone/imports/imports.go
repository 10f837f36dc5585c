// Package imports is `cno dayone import`: it extracts the existing configuration of a cluster or a host as documents.
package imports

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/dayone/thishost"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

type options struct {
	files             []string
	dir, output, role string
	live              bool
	host              thishost.Source
}

var errPlain = errors.New("the file is a document, or not YAML, and contains no documents to extract; \"cno dayone validate\" checks it, and -o hostnetworkconfig converts it to an object")

// preBootRole is the directory of documents that are for the time before the boot.
const preBootRole = "preboot"

// New returns the command.
func New() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "import (-f FILE... | --live)",
		Short: "Extract documents from MachineConfigs, install-configs or this host",
		Long: `Writes existing configurations as documents:

  MachineConfigs   their files below ` + placement.Dir + `, decoded; if two objects have
                   the same file, the object whose name sorts last is used, as on a node
  install-config   the networkConfig of each host, which is used before the boot
  --live           the network of the host on which the command runs: interfaces, addresses that are
                   not automatic, Open vSwitch bridges, routes and name servers

Without --dir everything goes to standard output, one YAML document for each file. With it the files
are DIR/ROLE/NAME.yml and DIR/preboot/HOST.yml. With -o hostnetworkconfig the output is one object
for each role, with a host for each file, which can be shortened later with values and a template.

Exit status: 0 done, 1 a document cannot be extracted, 2 the input cannot be read, or the command line
is wrong.`,
		Example: "  oc get machineconfig -o yaml | cno dayone import -f - --dir hosts/\n" +
			"  cno dayone import -f install-config.yaml -o hostnetworkconfig\n  cno dayone import --live > $(hostname -s).yml",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "a file of MachineConfigs or an install-config, - for standard input; may be repeated")
	f.BoolVar(&o.live, "live", false, "describe the host on which the command runs")
	f.StringVar(&o.dir, "dir", "", "the directory to write to, instead of standard output")
	f.StringVar(&o.role, "role", "", "only this role")
	f.StringVarP(&o.output, "output", "o", "files", "files or hostnetworkconfig")
	o.host.Add(cmd)
	cmd.MarkFlagsOneRequired("file", "live")
	cmd.MarkFlagsMutuallyExclusive("file", "live")
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"files", "hostnetworkconfig"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if o.output != "files" && o.output != "hostnetworkconfig" {
		return fmt.Errorf("--output %q is not files or hostnetworkconfig", o.output)
	}
	if o.live {
		content, err := o.describe(cmd.Context())
		if err != nil {
			return err
		}
		return o.write(cmd, []output{{name: "live" + placement.Extension, content: content}})
	}
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin()}).Read(o.files)
	if err != nil {
		return err
	}
	if found.Plain && o.output == "files" {
		return &exit.Code{Status: exit.Refused, Err: errPlain}
	}
	if o.role != "" {
		found = only(found, o.role)
	}
	outputs := files(found)
	if o.output == "hostnetworkconfig" {
		if outputs, err = objects(found); err != nil {
			return err
		}
	}
	if len(outputs) == 0 && !found.Problems.HasErrors() {
		return fmt.Errorf("the input contains no host network configuration")
	}
	// Documents are written also if others cannot be extracted.
	if err := o.write(cmd, outputs); err != nil {
		return err
	}
	return roles.Print(cmd.ErrOrStderr(), found.Problems)
}

func only(found roles.Found, role string) roles.Found {
	kept := roles.Found{Problems: found.Problems}
	for _, r := range found.Roles {
		if r.Name == role {
			kept.Roles = append(kept.Roles, r)
		}
	}
	for _, h := range found.PreBoot {
		if h.Role == role {
			kept.PreBoot = append(kept.PreBoot, h)
		}
	}
	return kept
}

// output is one file, or one part of standard output.
type output struct {
	// name is a slash path.
	name    string
	content []byte
}

func files(found roles.Found) []output {
	var all []output
	for _, role := range found.Roles {
		for _, file := range role.Files {
			name := file.Name
			if role.Name != "" {
				name = role.Name + "/" + name
			}
			all = append(all, output{name, file.Content})
		}
	}
	for _, host := range found.PreBoot {
		all = append(all, output{preBootRole + "/" + host.Name + placement.Extension, host.Document})
	}
	return all
}

func (o *options) write(cmd *cobra.Command, all []output) error {
	for i, out := range all {
		if o.dir == "" {
			head := ""
			if len(all) > 1 {
				head = "# " + out.name + "\n"
				if i > 0 {
					head = "---\n" + head
				}
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%s", head, withEnd(out.content)); err != nil {
				return err
			}
			continue
		}
		path := filepath.Join(o.dir, filepath.FromSlash(out.name))
		if !filepath.IsLocal(filepath.FromSlash(out.name)) {
			return fmt.Errorf("%s is not a name below a directory", out.name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
		if err := os.WriteFile(path, out.content, 0o644); err != nil {
			return fmt.Errorf("write document: %w", err)
		}
	}
	return nil
}

// withEnd ends a text with a line feed, so that the next one begins on a line of its own.
func withEnd(content []byte) []byte {
	if n := len(content); n == 0 || content[n-1] == '\n' {
		return content
	}
	return append(content[:len(content):len(content)], '\n')
}
