package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/debian"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// noNetwork is what --network says when no file shall be applied.
const noNetwork = "none"

func buildCommand(h *lab.Host) *cobra.Command {
	var arch string
	cmd := &cobra.Command{
		Use:   "build [COMPONENT...]",
		Short: "Build the programs of the lab that are missing, or only the named ones",
		RunE: func(cmd *cobra.Command, args []string) error {
			return lab.Build(cmd.Context(), *h, arch, args)
		},
	}
	cmd.Flags().StringVar(&arch, "arch", "", "the architecture to build for, as in GOARCH: amd64 or arm64 (default: that of this machine)")
	return cmd
}

// upFlags are the options of lab up as given.
type upFlags struct {
	topology.Options
	family, network string
	images          []string
}

func upCommand(h *lab.Host) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing and bring a cluster up",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return up(cmd, *h, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.ControlPlanes, "control-planes", 1, "number of control-plane nodes")
	flags.IntVar(&f.Workers, "workers", 2, "number of workers")
	flags.StringVar(&f.family, "ip-family", string(topology.IPv4), "IP family of nodes and services: 4, 6 or dual")
	flags.StringVar(&f.network, "network", noNetwork, "file with the network configuration to take the service network from, and to apply")
	flags.StringSliceVar(&f.images, "image", nil, "docker-archive with an image that every node gets; may be given several times")
	flags.IntVar(&f.Links, "links", 0, "number of further networks, each with an interface of every node (eth1, ...) and a host outside (outside1, ...)")
	flags.IntSliceVar(&f.DHCP, "dhcp", nil, "numbers of the links on which the host outside serves addresses by DHCP, for example 1,2")
	flags.IntVar(&f.MTU, "mtu", 0, "MTU of the links between nodes, in bytes (default: the kernel's, 1500)")
	flags.BoolVar(&f.KubeProxy, "kube-proxy", false, "run kube-proxy on every node, for networks that bring none")
	flags.BoolVar(&f.OpenShift, "openshift", false, "serve OpenShift's kinds and make the objects that its clusters are born with")
	return cmd
}

func up(cmd *cobra.Command, h lab.Host, f upFlags) error {
	ctx := cmd.Context()
	// First of all: without root it names all packages that are missing.
	if err := debian.Ensure(ctx, filepath.Join(h.Layout.Cache, "locks", "debian"), h.Out); err != nil {
		return err
	}
	unlock, err := lab.Lock(ctx, h)
	if err != nil {
		return err
	}
	defer unlock()
	if l, err := lab.Open(h); err == nil {
		return alreadyUp(cmd, l)
	} else if !errors.Is(err, lab.ErrNone) {
		return err
	}
	t, network, err := f.topology()
	if err != nil {
		return err
	}
	images, err := absolute(f.images)
	if err != nil {
		return err
	}
	if err := lab.Build(ctx, h, "", nil); err != nil {
		return err
	}
	if _, err := lab.BuildImages(ctx, h, false); err != nil {
		return err
	}
	l, err := lab.Up(ctx, h, t, images)
	if err != nil {
		return err
	}
	fmt.Fprintf(h.Out, "the cluster is up; its nodes wait for a network\n  export KUBECONFIG=%s\n  %s get nodes\n",
		l.Kubeconfig(), h.Layout.Program("kubectl"))
	if network == nil {
		return nil
	}
	return l.ApplyNetwork(ctx, network)
}

func absolute(paths []string) ([]string, error) {
	var list []string
	for _, path := range paths {
		p, err := filepath.Abs(path)
		if err == nil {
			_, err = os.Stat(p)
		}
		if err != nil {
			return nil, fmt.Errorf("--image: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

func alreadyUp(cmd *cobra.Command, l *lab.Lab) error {
	if !l.Whole() {
		return errors.New("a lab is there that did not come up wholly: look with lab status, then take it down with lab down")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the lab is up already: %v\n", l.Topology().Names())
	return nil
}

// topology makes the lab's topology of the flags. The network configuration is
// nil if there is none.
func (f upFlags) topology() (t topology.Topology, network []byte, err error) {
	o := f.Options
	if o.Family, err = topology.ParseFamily(f.family); err != nil {
		return t, nil, fmt.Errorf("--ip-family: %w", err)
	}
	if f.network != noNetwork {
		if network, err = os.ReadFile(f.network); err != nil {
			return t, nil, fmt.Errorf("--network: %w", err)
		}
		if o.ServiceNetwork, err = topology.ServiceNetworkOf(network); err != nil {
			return t, nil, fmt.Errorf("--network %s: %w", f.network, err)
		}
	}
	t, err = topology.New(o)
	return t, network, err
}

func downCommand(h *lab.Host) *cobra.Command {
	var purge, all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Take the lab down, in any state; only logs remain",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return lab.DownAll(cmd.Context(), *h, purge)
			}
			return lab.Down(cmd.Context(), *h, purge)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "take down all labs of this checkout")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove logs and links to programs, too; what was built stays in the cache")
	return cmd
}
