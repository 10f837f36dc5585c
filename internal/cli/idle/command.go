// Package idle implements `cno idle`, which scales the workloads of Services to zero and annotates the Services so that the first
// connection wakes them, as `oc idle` does.
package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
)

// options are the command-line options.
type options struct {
	all, dryRun bool
	selector    string
	form        output.Format
	cluster     kubeconfig.Flags
}

// New creates the command. now is the local clock; written times are those of the API server.
func New(now func() time.Time) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "idle SERVICE...",
		Short: "Scale what serves Services to zero until a client connects (OpenShiftSDN)",
		Long: `Scales the Deployments, StatefulSets, ReplicaSets, ReplicationControllers and DeploymentConfigs whose
pods serve Services to zero, and marks the Services as idled, as oc idle does. The first connection to
an idled Service scales them up again, and waits until a pod serves it.

Nothing is written if one of the Services cannot be idled.

Exit status: 0 the Services are idled, or would be; 1 a Service cannot be idled, or a write failed;
2 the cluster does not answer, or the command line is wrong.`,
		Example:           "  cno idle web -n shop\n  cno idle --selector=tier=test --dry-run\n  cno idle --all -n staging",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, names []string) error {
			return o.run(cmd, names, now)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all Services of the namespace that have a selector")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "the Services with these labels, such as tier=test")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be scaled, and write nothing")
	_ = cmd.RegisterFlagCompletionFunc("selector", cobra.NoFileCompletions)
	o.form.Add(cmd)
	o.cluster.AddForWorkloads(cmd.Flags())
	return cmd
}

func (o *options) run(cmd *cobra.Command, names []string, now func() time.Time) error {
	selector, err := o.chosen(names)
	if err != nil {
		return err
	}
	namespace, err := o.cluster.WorkloadNamespace()
	if err != nil {
		return err
	}
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	clock := kubeconfig.NewClock(config, now)
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), autoscalingv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	found, err := services(cmd.Context(), api, namespace, names, selector)
	if err != nil {
		return err
	}
	p, err := planned(cmd.Context(), api, found)
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	if !o.dryRun {
		err = p.write(cmd.Context(), api, clock.Now())
	}
	if printed := o.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), p); printed != nil {
		return printed
	}
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return nil
}

// chosen checks that the command line selects Services in exactly one way; the selector is nil if it names them.
func (o *options) chosen(names []string) (labels.Selector, error) {
	ways := 0
	for _, given := range []bool{len(names) > 0, o.all, o.selector != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, errors.New("name Services, or give one of --all and --selector")
	case o.all:
		return labels.Everything(), nil
	case o.selector == "":
		return nil, nil
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return selector, nil
}

// services reads the named Services, or else those with pods that the selector selects.
func services(ctx context.Context, api client.Client, namespace string, names []string, selector labels.Selector) ([]corev1.Service, error) {
	var out []corev1.Service
	if selector != nil {
		var all corev1.ServiceList
		if err := api.List(ctx, &all, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return nil, fmt.Errorf("list Services of namespace %s: %w", namespace, err)
		}
		for _, s := range all.Items {
			if len(s.Spec.Selector) > 0 && s.Spec.Type != corev1.ServiceTypeExternalName {
				out = append(out, s)
			}
		}
		if len(out) == 0 {
			return nil, &exit.Code{Status: exit.Refused, Err: fmt.Errorf("no Service of namespace %s is selected", namespace)}
		}
		return out, nil
	}
	var failed []error
	for _, name := range names {
		var s corev1.Service
		if err := api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s); err != nil {
			failed = append(failed, fmt.Errorf("read Service %s/%s: %w", namespace, name, err))
			continue
		}
		out = append(out, s)
	}
	if err := errors.Join(failed...); err != nil {
		return nil, &exit.Code{Status: exit.Refused, Err: err}
	}
	return out, nil
}

// line is the output about a Service.
type line struct {
	Namespace string   `json:"namespace"`
	Service   string   `json:"service"`
	Targets   []scaled `json:"targets"`
	DryRun    bool     `json:"dryRun"`
}

type scaled struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Replicas int32  `json:"replicas"`
}

func (o *options) print(w, warnings io.Writer, p *plan) error {
	for _, text := range p.warnings {
		if _, err := fmt.Fprintln(warnings, "warning:", text); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	lines := []line{}
	for _, s := range p.services {
		if o.dryRun || p.written[s.Name] {
			l := line{Namespace: s.Namespace, Service: s.Name, DryRun: o.dryRun}
			for _, t := range p.targets[s.Name] {
				l.Targets = append(l.Targets, scaled{t.Kind, t.Name, t.Replicas})
			}
			lines = append(lines, l)
		}
	}
	if !o.form.ForPeople() {
		return o.form.Write(w, lines)
	}
	verb := "idled"
	if o.dryRun {
		verb = "would be idled"
	}
	for _, l := range lines {
		for _, t := range l.Targets {
			if _, err := fmt.Fprintf(w, "Service %s/%s %s: %s %s scaled from %d to 0\n", l.Namespace, l.Service, verb, t.Kind, t.Name, t.Replicas); err != nil {
				return fmt.Errorf("print: %w", err)
			}
		}
	}
	return nil
}
