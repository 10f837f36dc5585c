// Package trace implements `cno trace`, which traces a packet from a pod to another pod, a Service, an address or a name, and its reply.
package trace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/podexec"
	"github.com/cluster-network-operator/cno/internal/preview"
	way "github.com/cluster-network-operator/cno/internal/trace"
)

// options are the command-line options.
type options struct {
	protocol string
	port     uint16
	objects  bool
	flows    bool
	timeout  time.Duration
	form     output.Format
	cluster  kubeconfig.Flags
}

// New creates the command.
func New(registry pipeline.Registry) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "trace NAMESPACE/POD DESTINATION[:PORT]",
		Short: "Explain what becomes of a packet, and which NetworkPolicy stops it",
		Long: `Follows the first packet of a connection from a pod, and its reply: the endpoint that a Service is
translated to, the NetworkPolicy and the rule that decide, the nodes, and the address with which the
packet leaves the cluster. Then it runs read-only commands in the network's own pods, and prints the
flows that decide. No packet is sent.

DESTINATION is NAMESPACE/POD, NAMESPACE/SERVICE (pod/NAMESPACE/NAME or service/NAMESPACE/NAME if
both exist), an address, or a DNS name. PORT is a number or the name of a Service's port; an IPv6
address with a port is written [ADDRESS]:PORT. If a Service has several endpoints, a path that is
denied is shown, if there is one.

Exit status: 0 the packet and its reply pass; 1 one of them is stopped, or an object does not exist;
2 the cluster does not answer, or the command line is wrong.`,
		Example: "  cno trace shop/client shop/db:5432\n  cno trace shop/client 192.0.2.7 --port 443 --flows\n  cno trace shop/client kube-system/kube-dns:53 --protocol UDP -o json",
		Args:    cobra.ExactArgs(2), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, registry, args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.protocol, "protocol", "", "TCP, UDP or SCTP (default: that of the Service's port, or TCP)")
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions([]string{"TCP", "UDP", "SCTP"}, cobra.ShellCompDirectiveNoFileComp))
	f.Uint16Var(&o.port, "port", 0, "port of the destination (default: the one in DESTINATION, or the only one that it has)")
	f.BoolVar(&o.flows, "flows", false, "also print the flows of steps that pass")
	f.BoolVar(&o.objects, "objects-only", false, "use only objects of the cluster, and run no commands in pods of the network")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for the cluster")
	o.form.Add(cmd)
	o.cluster.Add(f)
	return cmd
}

func (o *options) run(cmd *cobra.Command, registry pipeline.Registry, from, to string) error {
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	cluster, err := open(ctx, config, o.cluster.Namespace, registry)
	if err != nil {
		return err
	}
	if o.objects {
		cluster.Run = nil
	}
	answer, err := way.Trace(ctx, cluster, way.Question{From: from, To: to, Protocol: corev1.Protocol(strings.ToUpper(o.protocol)), Port: o.port})
	switch {
	case errors.Is(err, way.ErrUnknown):
		return &exit.Code{Status: exit.Refused, Err: err}
	case err != nil:
		return err
	}
	if o.form.ForPeople() {
		err = answer.Write(cmd.OutOrStdout(), o.flows)
	} else {
		err = o.form.Write(cmd.OutOrStdout(), answer)
	}
	if err == nil && !answer.Passes {
		return &exit.Code{Status: exit.Refused}
	}
	return err
}

// The rate limits of requests.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// open creates the clients and reads the network type of the cluster.
func open(ctx context.Context, config *rest.Config, namespace string, registry pipeline.Registry) (way.Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, operatorv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return way.Cluster{}, fmt.Errorf("create scheme: %w", err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return way.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	spec, err := preview.Cluster{Client: api, Namespace: namespace}.Spec(ctx)
	switch {
	case errors.Is(err, preview.ErrNoNetwork):
		return way.Cluster{}, &exit.Code{Status: exit.Refused, Err: err}
	case err != nil:
		return way.Cluster{}, err
	}
	return way.Cluster{
		Objects: api, Spec: spec, Tracer: registry.Tracer(spec.DefaultNetwork.Type), Run: podexec.Runner{Config: config, Objects: api}.Run, Lookup: lookup,
	}, nil
}

func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}
