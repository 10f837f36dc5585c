// Package validate is `cno dayone validate`: it finds errors that would leave a host without its network, before it boots.
package validate

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/dayone/roles"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
	"github.com/cluster-network-operator/cno/internal/output"
)

// findings is the JSON form of the output.
type findings struct {
	Valid    bool             `json:"valid"`
	Problems nmstate.Problems `json:"problems"`
}

type options struct {
	files, networks, vips, hosts []string
	dir, role                    string
	form                         output.Format
	withoutBridge                bool
}

// New returns the command.
func New() *cobra.Command {
	o := options{}
	cmd := &cobra.Command{
		Use:   "validate ([-f] FILE... | --dir DIR)",
		Short: "Validate the network configuration of hosts before they boot",
		Long: `Checks documents, directories of documents, MachineConfigs, HostNetworkConfigs and the hosts of an
install-config, each separately and all together: each must be readable, have a valid br-ex and
use no reserved name; no address may belong to two hosts, or be in a shared file; names and sizes
must be valid; and a host must keep an address from before the boot.

If everything is valid, the last line has the numbers of hosts, phases and warnings.

An install-config among the files also provides the machine networks and the virtual addresses.

Exit status: 0 valid (there may be warnings), 1 invalid, 2 the input cannot be read, or the command
line is wrong.`,
		Example: "  cno dayone validate --dir master/\n  cno dayone validate -f install-config.yaml -f 10-br-ex-master.yaml",
		Args:    roles.FileArgs(&o.files, &o.dir),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.files, "file", "f", nil, "a document, a directory of documents, or a file of objects, - for standard input; may be repeated")
	f.StringVar(&o.dir, "dir", "", "a directory of documents, like -f")
	f.StringVar(&o.role, "role", "", "the role of documents that name none")
	f.StringArrayVar(&o.hosts, "host", nil, "a host of the role; if you name one, name all; may be repeated")
	f.StringArrayVar(&o.networks, "machine-network", nil, "a network in which hosts have their addresses, for example 192.168.111.0/24; may be repeated")
	f.StringArrayVar(&o.vips, "vip", nil, "an address that moves between hosts; may be repeated")
	f.BoolVar(&o.withoutBridge, "without-bridge", false, "the cluster's network needs no br-ex (all networks except OVN-Kubernetes)")
	o.form.Add(cmd)
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	files := o.files
	if o.dir != "" {
		files = append(files, o.dir)
	}
	found, err := (&roles.Reader{Stdin: cmd.InOrStdin(), Role: o.role}).Read(files)
	if err != nil {
		return err
	}
	s, err := o.surroundings(found)
	if err != nil {
		return err
	}
	problems := roles.Validate(found, s)
	if o.form.ForPeople() {
		if err := roles.Print(cmd.OutOrStdout(), problems); err != nil {
			return err
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), roles.Summary(found, problems))
		return err
	}
	if problems == nil {
		problems = nmstate.Problems{}
	}
	if err := o.form.Write(cmd.OutOrStdout(), findings{!problems.HasErrors(), problems}); err != nil {
		return err
	}
	if problems.HasErrors() {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}

func (o *options) surroundings(found roles.Found) (validation.Surroundings, error) {
	s := found.Surroundings()
	s.WithoutBridge = s.WithoutBridge || o.withoutBridge
	for _, text := range o.networks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return s, fmt.Errorf("--machine-network %q is not a network; write for example 192.168.111.0/24", text)
		}
		s.MachineNetworks = append(s.MachineNetworks, prefix.Masked())
	}
	for _, text := range o.vips {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return s, fmt.Errorf("--vip %q is not an address", text)
		}
		s.VIPs = append(s.VIPs, addr)
	}
	if len(o.hosts) > 0 {
		s.Hosts = map[string][]string{o.role: o.hosts}
	}
	return s, nil
}
