// Command openshift-sdn-controller is the controller of OpenShiftSDN; see docs/programs/openshift-sdn-controller.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/version"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

// clouds are the platforms on which each egress IP must be registered with the cloud, which this project does not do.
var clouds = []string{"AWS", "Azure", "GCP", "OpenStack"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	p := newProgram(os.Stderr)
	err := p.command().ExecuteContext(ctx)
	stop()
	if err != nil {
		p.log.Error("openshift-sdn-controller ends", "error", err)
		os.Exit(1)
	}
}

// program is the command line.
type program struct {
	level *slog.LevelVar
	log   *slog.Logger

	node, platform, config, kubeconfig, lease string
	debug                                     string
	run                                       func(context.Context, controller.Config) error
}

func newProgram(errors io.Writer) *program {
	level := &slog.LevelVar{}
	return &program{level: level, log: logging.Setup(errors, level), run: controller.Run}
}

func (p *program) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "openshift-sdn-controller", Short: "Assign blocks to nodes, VNIDs to namespaces, and egress IPs to nodes",
		Version: version.String(), Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.start(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&p.node, "node-name", "", "the name of the node on which this instance runs (required)")
	f.StringVar(&p.platform, "platform-type", "", "the type of the infrastructure, as Infrastructure/cluster has it; on "+strings.Join(clouds, ", ")+" egress IPs must be registered by another program")
	f.StringVar(&p.config, "config", filepath.Join(agentconfig.ConfigDir, agentconfig.FileName), "the configuration of the network")
	f.StringVar(&p.kubeconfig, "kubeconfig", "", "a kubeconfig file; without one, the pod's service account is used")
	f.StringVar(&p.lease, "lease-namespace", agentconfig.Namespace, "the namespace of the lease "+agentconfig.Lease)
	f.StringVar(&p.debug, "log-level", "", "what to log: debug, info, warn or error; the default is that of the configuration")
	return cmd
}

// start reads the configuration, and runs the controller until the context is cancelled.
func (p *program) start(ctx context.Context) error {
	if p.node == "" {
		return errors.New("--node-name is required; in a pod, pass spec.nodeName by an environment variable: --node-name=$(NODE_NAME)")
	}
	data, err := os.ReadFile(p.config)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	network, err := agentconfig.Decode(data)
	if err != nil {
		return err
	}
	if errs := network.Validate(); len(errs) > 0 {
		return fmt.Errorf("%s is not valid: %w", p.config, errs.ToAggregate())
	}
	level := network.LogLevel
	if p.debug != "" {
		level = p.debug
	}
	if err := p.level.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level: %w", err)
	}
	kube, err := p.api()
	if err != nil {
		return err
	}
	if slices.Contains(clouds, p.platform) {
		p.log.Warn("egress IPs must be registered with the cloud, which this program does not do", "platform", p.platform)
	}
	return p.run(ctx, controller.Config{
		Kube: kube, Node: p.node, Network: network, LeaseNamespace: p.lease, HealthAddress: network.ControllerHealthAddress,
		Metrics: agent.NewMetrics("sdn_controller", version.String()), Log: p.log,
	})
}

// api returns the client configuration for the API server.
func (p *program) api() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if p.kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("read how to reach the API server: %w", err)
	}
	config.UserAgent = "openshift-sdn-controller/" + version.String()
	return config, nil
}
