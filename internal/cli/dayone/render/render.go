// Package render is `cno dayone render`: it renders documents of hosts as keyfiles, Ignition configurations, objects or kernel arguments.
package render

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/metal"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// options are the flags of the command.
type options struct {
	files     []string
	as        string
	hosts     []string
	namespace string
	base      string
	role      string
	dir       string
	// image contains the binary host-network, for MachineConfigs.
	image string
	// withoutBridge and allowUnsound are for MachineConfigs and NodeNetworkConfigurationPolicies.
	withoutBridge, allowUnsound bool
}

// form is one way to render documents.
type form struct {
	word string
	// named is set if the output contains the names of hosts.
	named bool
	// render returns the output, in order.
	render func(*options, []metal.Host) (output, nmstate.Problems, error)
}

// forms lists them in the order in which help names them.
func forms() []form {
	return []form{
		{"keyfiles", false, keyfiles},
		{"ignition", false, ignitionConfigs},
		{"secret", true, secrets},
		{"baremetalhost", true, bareMetalHosts},
		{"kargs", true, kernelArguments},
	}
}

func words() []string {
	var out []string
	for _, f := range forms() {
		out = append(out, f.word)
	}
	return out
}

// New returns the command. It reads standard input for a file named "-".
func New() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "render --as FORM [-f] FILE...",
		Short: "Render documents of hosts for boot images, MachineConfigs or a cluster",
		Long: `Renders NMState documents of hosts. Before the first boot:

  keyfiles       NetworkManager's profiles
  ignition       the Ignition configuration (3.2.0) that a boot image contains
  secret         the Secret that a BareMetalHost names
  baremetalhost  the BareMetalHost that names the Secret, and the Secret of its management controller
  kargs          kernel arguments (ip=, vlan=, bond=, ...), on one line; what they cannot express is refused

For the first boot of the installed system:

  machineconfig  the MachineConfig that installs the documents of all hosts of a role on its nodes;
                 cluster.yml is for hosts that have none of their own. Documents with errors of "cno
                 dayone validate" are refused, unless --allow-unsound turns these into warnings.
                 --host-network-image adds the MachineConfig with which nodes apply the documents
                 with host-network instead of the stock service

For a running cluster with kubernetes-nmstate:

  nncp           a NodeNetworkConfigurationPolicy for each host, checked as a MachineConfig is, which
                 kubernetes-nmstate applies on one node at a time

With --dir, keyfiles are DIR/HOST/NAME.nmconnection. The name of a file without its extension is
the name of its host. A directory stands for its .yml and .yaml files; an install-config, an
agent-config.yaml and NMStateConfigs for the hosts in them; and a HostNetworkConfig for the
documents that are rendered from it.

Features that cannot work before the boot (Open vSwitch, captures, values that only the running host
knows) are refused, with the reason.

Exit status: 0 rendered, 1 a document is invalid or cannot be used before the boot, 2 the input
cannot be read, or the command line is wrong.`,
		Example: `  cno dayone render --as ignition -f worker-0.yml > worker-0.ign
  cno dayone render --as secret -f worker-0.yml | kubectl apply -f -
  cno dayone render --as ignition -f install-config.yaml --dir ignition/
  cno dayone render --as machineconfig --role master -f master/ > 10-br-ex-master.yaml`,
		Args: roles.FileArgs(&o.files),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "a document, a directory of documents, an install-config, an agent-config, NMStateConfigs or a HostNetworkConfig, - for standard input; may be repeated")
	f.StringVar(&o.as, "as", "", strings.Join(append(words(), machineConfig, nodePolicy), ", "))
	f.StringArrayVar(&o.hosts, "host", nil, "only this host, or, with one document, the name of its host; may be repeated")
	f.StringVar(&o.namespace, "namespace", metal.Namespace, "the namespace of Secrets and BareMetalHosts")
	f.StringVar(&o.base, "base", "", "an Ignition configuration (3.0 to 3.2) that is merged with that of each host")
	f.StringVar(&o.dir, "dir", "", "the directory to write files to, instead of standard output")
	f.StringVar(&o.role, "role", "", "the role of the documents, for a MachineConfig or an NNCP")
	f.BoolVar(&o.withoutBridge, "without-bridge", false, "the cluster's network needs no br-ex (all networks except OVN-Kubernetes), for a MachineConfig or an NNCP")
	f.StringVar(&o.image, "host-network-image", "", "also render the MachineConfig that installs host-network from this image and masks the stock service, for a MachineConfig")
	f.BoolVar(&o.allowUnsound, "allow-unsound", false, "render a MachineConfig or an NNCP of documents that can be read, despite their other errors")
	_ = cmd.MarkFlagRequired("as")
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(append(words(), machineConfig, nodePolicy), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if o.image != "" && o.as != machineConfig {
		return fmt.Errorf("--host-network-image is for --as %s", machineConfig)
	}
	switch o.as {
	case machineConfig:
		return o.machineConfigs(cmd)
	case nodePolicy:
		return o.nodePolicies(cmd)
	}
	chosen, err := o.form()
	if err != nil {
		return err
	}
	if o.withoutBridge || o.allowUnsound {
		return fmt.Errorf("--without-bridge and --allow-unsound cannot be used with --as %s: only a MachineConfig and an NNCP are checked for them", o.as)
	}
	source := source{stdin: cmd.InOrStdin(), only: o.hosts, named: chosen.named || o.dir != ""}
	hosts, problems, err := source.hosts(o.files)
	if err != nil {
		return err
	}
	out, wrong, err := chosen.render(o, hosts)
	if err != nil {
		return err
	}
	problems = append(problems, wrong...)
	for _, p := range problems.Sorted() {
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), p); err != nil {
			return err
		}
	}
	if problems.HasErrors() {
		return &exit.Code{Status: exit.Refused}
	}
	return out.write(cmd.OutOrStdout(), o.dir)
}

func (o *options) form() (form, error) {
	for _, f := range forms() {
		if f.word == o.as {
			if o.base != "" && f.word != "ignition" {
				return form{}, fmt.Errorf("--base cannot be used with --as %s: only an Ignition configuration can be merged", f.word)
			}
			return f, nil
		}
	}
	return form{}, fmt.Errorf("--as %q is not one of %s", o.as, strings.Join(append(words(), machineConfig, nodePolicy), ", "))
}
