package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/e2e/lab"
	"github.com/cluster-network-operator/cno/e2e/lab/component"
	"github.com/cluster-network-operator/cno/e2e/lab/debian"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// noNetwork is the value of --network to apply no file.
const noNetwork = "none"

func buildCommand(h *lab.Host) *cobra.Command {
	var arch, kubernetes string
	cmd := &cobra.Command{
		Use:   "build [COMPONENT...]",
		Short: "Build missing components of the lab, by default all",
		RunE: func(cmd *cobra.Command, args []string) error {
			if kubernetes != "" {
				if err := lab.BuildKubernetes(cmd.Context(), *h, kubernetes); err != nil {
					return err
				}
			}
			return lab.Build(cmd.Context(), *h, arch, args)
		},
	}
	cmd.Flags().StringVar(&kubernetes, "kubernetes", "", "also build the programs of nodes of this version of Kubernetes")
	cmd.Flags().StringVar(&arch, "arch", "", "architecture to build for, amd64 or arm64 (default: that of this machine)")
	return cmd
}

func versionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "versions",
		Short: "Print the versions of Kubernetes that nodes can run",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), strings.Join(component.KubernetesVersions(), "\n"))
		},
	}
}

// kubernetesVariable is the environment variable with the default of --kubernetes.
const kubernetesVariable = "KUBERNETES"

// upFlags are the flags of lab up.
type upFlags struct {
	topology.Options
	family, network string
	images          []string
}

func upCommand(h *lab.Host) *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build missing components and bring up a cluster",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return up(cmd, *h, f) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.ControlPlanes, "control-planes", 1, "number of control-plane nodes")
	flags.IntVar(&f.Workers, "workers", 2, "number of workers")
	flags.StringVar(&f.family, "ip-family", string(topology.IPv4), "IP family of nodes and services: 4, 6 or dual")
	flags.StringVar(&f.network, "network", noNetwork, "file with a network configuration to apply, which also sets the Service CIDR of the cluster")
	flags.StringSliceVar(&f.images, "image", nil, "docker-archive with an image to load into every node; may be repeated")
	flags.IntVar(&f.Links, "links", 0, "number of further networks, each with an interface of every node (eth1, ...) and an outside host (outside1, ...)")
	flags.IntSliceVar(&f.DHCP, "dhcp", nil, "numbers of the links whose outside host is a DHCP server, for example 1,2")
	flags.IntVar(&f.MTU, "mtu", 0, "MTU of the links between nodes, in bytes (default: the kernel's, 1500)")
	flags.StringVar(&f.Kubernetes, "kubernetes", os.Getenv(kubernetesVariable),
		"version of Kubernetes on the nodes, "+strings.Join(component.KubernetesVersions(), ", ")+" (environment variable "+kubernetesVariable+"; default: that of the tests)")
	flags.BoolVar(&f.KubeProxy, "kube-proxy", false, "run kube-proxy on every node, for networks without a service proxy")
	flags.BoolVar(&f.OpenShift, "openshift", false, "create OpenShift's CRDs and the objects that its installer creates")
	return cmd
}

func up(cmd *cobra.Command, h lab.Host, f upFlags) error {
	ctx := cmd.Context()
	// Check packages first: without root, the error names all that are missing.
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
	if t.Kubernetes != "" {
		if err := lab.BuildKubernetes(ctx, h, t.Kubernetes); err != nil {
			return err
		}
	}
	if _, err := lab.BuildImages(ctx, h, false); err != nil {
		return err
	}
	l, err := lab.Up(ctx, h, t, images)
	if err != nil {
		return err
	}
	fmt.Fprintf(h.Out, "the cluster is up; its nodes become ready when a pod network is installed\n  export KUBECONFIG=%s\n  %s get nodes\n",
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
		return errors.New("the bring-up of the existing lab did not complete: see lab status, then remove it with lab down")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the lab is up already: %v\n", l.Topology().Names())
	return nil
}

// topology returns the topology that the flags describe, and the content of the
// file of --network, nil if there is none.
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
	if o.Kubernetes != "" {
		if _, err := component.Cluster(o.Kubernetes); err != nil {
			return t, nil, fmt.Errorf("--kubernetes: %w", err)
		}
	}
	t, err = topology.New(o)
	return t, network, err
}

func downCommand(h *lab.Host) *cobra.Command {
	var purge, all bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the lab in any state; logs are kept",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return lab.DownAll(cmd.Context(), *h, purge)
			}
			return lab.Down(cmd.Context(), *h, purge)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove all labs of this checkout")
	cmd.Flags().BoolVar(&purge, "purge", false, "also remove logs and links to binaries; the build cache is kept")
	return cmd
}
