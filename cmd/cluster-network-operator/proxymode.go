package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/host/proxykernel"
)

func checkProxyMode() *cobra.Command {
	var (
		needs   proxykernel.Needs
		minimum string
		node    string
	)
	cmd := &cobra.Command{
		Use: "check-proxy-mode", Short: "Check that this host's kernel has what a mode of kube-proxy needs, and change nothing", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if minimum != "" {
				v, ok := facts.ParseKernelVersion(minimum)
				if !ok {
					return fmt.Errorf("--minimum-kernel %q: must be a version of Linux, for example 5.13", minimum)
				}
				needs.MinimumKernel = v
			}
			if err := proxykernel.Check(needs); err != nil || node == "" {
				return err
			}
			api, err := clientConfig("")
			if err != nil {
				return err
			}
			return readNode(cmd.Context(), api, node)
		},
	}
	cmd.Flags().StringVar(&needs.Mode, "mode", "", "the mode: nftables, iptables or ipvs")
	cmd.Flags().BoolVar(&needs.IPv4, "ipv4", false, "check for IPv4")
	cmd.Flags().BoolVar(&needs.IPv6, "ipv6", false, "check for IPv6")
	cmd.Flags().StringVar(&needs.Scheduler, "ipvs-scheduler", "", "the scheduler of mode ipvs; kube-proxy's default if empty")
	cmd.Flags().StringVar(&minimum, "minimum-kernel", "", "the oldest version of Linux that kube-proxy accepts in this mode")
	cmd.Flags().StringVar(&node, "node", "", "the Node to read from the API server, with the pod's service account; none if empty")
	return cmd
}

// readTimeout limits the request to the API server.
const readTimeout = 15 * time.Second

// readNode does what kube-proxy does first once it has removed the rules of other modes: where the API server is unreachable, the rules
// are still needed.
func readNode(ctx context.Context, api *rest.Config, name string) error {
	api = rest.CopyConfig(api)
	api.Timeout = readTimeout
	client, err := corev1client.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if _, err := client.Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("kube-proxy is not started, and the rules of the node stay as they are: it needs the Node from the API server: %w", err)
	}
	return nil
}
