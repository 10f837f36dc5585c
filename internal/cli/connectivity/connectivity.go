// Package connectivity implements `cno connectivity test` and `perf`, which create pods on several nodes and delete them afterwards: test
// runs connectivity tests between them, and traces failures to their hop; perf measures throughput and latency of the paths between them.
package connectivity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/typedclient"
)

// options are the command-line options.
type options struct {
	nodes    []string
	external string
	network  string
	image    string
	timeout  time.Duration
	form     output.Format
	cluster  kubeconfig.Flags
}

// New creates the command connectivity with its subcommands. registry has the networks, which declare what they enforce.
func New(registry pipeline.Registry) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "connectivity",
		Short: "Test what pods can reach, and how fast",
		Long: `Tests the network of a cluster from inside.

Exit status: that of the command; 0 for this help.`,
		Example: "  cno connectivity test\n  cno connectivity perf",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(test(registry), perfCommand())
	return cmd
}

func test(registry pipeline.Registry) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Run connectivity tests between pods on several nodes",
		Long: `Creates pods of the operator's own image on up to three nodes, in a separate namespace. Each pod
connects to pods and hosts on its own and on the other nodes, to Services by address and by name,
to host ports and node ports, to cluster DNS and to the API server: over TCP and UDP, with small
packets and with packets of the full MTU, and in each IP family that pods have. Failures are
traced to their hop: pod, own node, other node, other pod. The test needs no other image, and
nothing outside the cluster. Nodes that do not answer are tested from the other nodes.

If the network enforces NetworkPolicies, more pods on two of these nodes, or on the nodes of --node,
test some policies: connections that a policy denies must be dropped, those that it allows must pass.
If the network isolates namespaces, pods in a second namespace must be unreachable.

With --network, pods in the namespace of that NetworkAttachmentDefinition request the network, and
connections between them are tested only over it. They need two addresses of it for each node.

Everything that the test creates is deleted, even if the command is interrupted.

Exit status: 0 all results are as expected; 1 a target cannot be reached, or can be reached although
it must not; 2 the cluster does not answer, no pod can be started, or the command line is wrong.`,
		Example:           "  cno connectivity test\n  cno connectivity test --node worker-0 --node worker-7\n  cno connectivity test --external example.org:443 -o json\n  cno connectivity test --network default/storage",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, registry) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.nodes, "node", nil, "a node to test; may be repeated (default: up to three, those that are not ready first)")
	f.StringVar(&o.external, "external", "", "host:port outside the cluster to test as well")
	f.StringVar(&o.network, "network", "", "namespace/name of a NetworkAttachmentDefinition: test that network instead of the pod network")
	f.StringVar(&o.image, "image", "", "image of the pods (default: that of the operator)")
	f.DurationVar(&o.timeout, "timeout", timeLimit, "how long to test; a pod may take a sixth of this time to start, and cleaning up, which is not counted, a quarter")
	o.form.Add(cmd)
	o.cluster.Add(f)
	_ = cmd.RegisterFlagCompletionFunc("node", preview.CompleteNodes(&o.cluster))
	return cmd
}

// Report is the result of a connectivity test.
type Report struct {
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	// Hops are sentences that name the failing hops.
	Hops []string `json:"hops"`
	// Scenarios are all tested scenarios, the failed ones first.
	Scenarios []Outcome `json:"scenarios"`
	// Notes are sentences about scenarios that could not be tested.
	Notes   []string `json:"notes"`
	Seconds float64  `json:"seconds"`
}

// Outcome is the result of a scenario.
type Outcome struct {
	Name         string `json:"name"`
	OK           bool   `json:"ok"`
	Error        string `json:"error,omitempty"`
	Milliseconds int64  `json:"milliseconds"`
}

func (o *options) run(cmd *cobra.Command, registry pipeline.Registry) error {
	begin := time.Now()
	if o.network != "" && o.external != "" {
		return errNetworkAndExternal
	}
	var res Report
	err := o.withFixture(cmd, func(ctx context.Context, s *fixture) (err error) {
		if o.network != "" {
			res, err = s.testFurther(ctx, o.nodes, o.network)
			return err
		}
		config, err := o.cluster.Config()
		if err != nil {
			return err
		}
		s.enforces = enforcementIn(ctx, config, o.cluster.Namespace, registry)
		res, err = s.test(ctx, o.nodes)
		return err
	})
	if err != nil {
		return err
	}
	res.Seconds = time.Since(begin).Seconds()
	if o.form.ForPeople() {
		err = res.print(cmd.OutOrStdout())
	} else {
		err = o.form.Write(cmd.OutOrStdout(), res)
	}
	if err == nil && res.Failed > 0 {
		return &exit.Code{Status: exit.Refused}
	}
	return err
}

// withFixture calls a function with a fixture in the cluster that the flags name, and cleans up.
func (o *options) withFixture(cmd *cobra.Command, f func(context.Context, *fixture) error) error {
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	progress := cmd.ErrOrStderr()
	s := &fixture{operator: o.cluster.Namespace, image: o.image, external: o.external,
		logf: func(format string, args ...any) { _, _ = fmt.Fprintf(progress, format+"\n", args...) }}
	return s.on(cmd.Context(), config, o.timeout, f)
}

// on calls a function with the fixture in a cluster, with a time limit, and cleans up.
func (s *fixture) on(ctx context.Context, config *rest.Config, limit time.Duration, f func(context.Context, *fixture) error) error {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 100, 200
	var err error
	if s.api, err = typedclient.New(config); err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	s.limit = limit
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = f(limited, s)
	// The clean-up must run even if the context has ended.
	return errors.Join(err, s.cleanUp(context.WithoutCancel(ctx)))
}

// timeLimit is the default of the time limit of a test.
const timeLimit = 2 * time.Minute

// Test runs the tests of cno connectivity test on the named nodes, or on the default ones if there is none. logf prints the progress.
func Test(ctx context.Context, config *rest.Config, namespace string, registry pipeline.Registry, nodes []string, logf func(format string, args ...any)) (Report, error) {
	begin := time.Now()
	var res Report
	s := &fixture{operator: namespace, logf: logf, enforces: enforcementIn(ctx, config, namespace, registry)}
	err := s.on(ctx, config, timeLimit, func(ctx context.Context, s *fixture) (err error) {
		res, err = s.test(ctx, nodes)
		return err
	})
	res.Seconds = time.Since(begin).Seconds()
	return res, err
}

func (r Report) print(w io.Writer) error {
	var text strings.Builder
	for _, s := range r.Scenarios {
		if s.OK {
			fmt.Fprintf(&text, "ok    %s (%d ms)\n", s.Name, s.Milliseconds)
		} else {
			fmt.Fprintf(&text, "FAIL  %s: %s\n", s.Name, s.Error)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&text, "note  %s\n", n)
	}
	fmt.Fprintf(&text, "%d of %d scenarios pass, in %.1f s\n", r.Passed, r.Passed+r.Failed, r.Seconds)
	for _, h := range r.Hops {
		fmt.Fprintf(&text, "hop   %s\n", h)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
