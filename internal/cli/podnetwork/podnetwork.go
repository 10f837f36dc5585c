// Package podnetwork implements `cno pod-network`, which joins, isolates and opens namespaces of OpenShiftSDN in mode Multitenant,
// as `oc adm pod-network` does.
package podnetwork

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/podexec"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// poll is the interval at which a NetNamespace is read until the controller has processed a request.
const poll = 200 * time.Millisecond

// options are the command-line options.
type options struct {
	to      string
	timeout time.Duration
	form    output.Format
	// reporter returns the VNIDReporter of a network type.
	reporter func(operatorv1.NetworkType) provider.VNIDReporter
	cluster  kubeconfig.Flags
}

// eventTimeout is how long to wait for the event that explains a refusal: it may be written after the answer.
const eventTimeout = 5 * time.Second

// answer is the result for a namespace.
type answer struct {
	Namespace string `json:"namespace"`
	VNID      uint32 `json:"vnid"`
}

// verb is one of the subcommands.
type verb struct {
	use, short, long, example string
	join                      bool
	request                   func(o *options) string
}

// status ends the help of each command.
const status = `

Exit status: 0 each namespace has what was requested; 1 a request is refused or not answered, or a node
does not use the VNIDs in time; 2 the cluster does not answer, or the command line is wrong.`

// New creates the command pod-network. The registry has the network whose agents are asked.
func New(registry pipeline.Registry) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pod-network",
		Short: "Connect and separate the pods of namespaces (OpenShiftSDN, mode Multitenant)",
		Long: `Changes which namespaces share a virtual network. The commands send requests to the controller
of OpenShiftSDN, as oc adm pod-network does. They wait for its answer, and until all nodes with pods of
these namespaces use the VNIDs.` + status,
		Example: "  cno pod-network join-projects --to=shop warehouse\n  cno pod-network isolate-projects warehouse",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, v := range []verb{
		{use: "join-projects --to=NAMESPACE NAMESPACE...", short: "Join namespaces to the virtual network of another namespace", join: true,
			long:    `Connects the pods of namespaces with those of another namespace: they share its VNID.`,
			example: "  cno pod-network join-projects --to=shop warehouse billing", request: func(o *options) string { return sdnv1.ChangeJoin + o.to }},
		{use: "isolate-projects NAMESPACE...", short: "Assign each namespace its own virtual network",
			long:    `Separates the pods of namespaces from all others: each gets a VNID that no other namespace has.`,
			example: "  cno pod-network isolate-projects warehouse", request: func(*options) string { return sdnv1.ChangeIsolate }},
		{use: "make-projects-global NAMESPACE...", short: "Connect namespaces with all others",
			long:    `Connects the pods of namespaces with those of all others: they get VNID 0.`,
			example: "  cno pod-network make-projects-global monitoring", request: func(*options) string { return sdnv1.ChangeGlobal }},
	} {
		cmd.AddCommand(v.command(registry))
	}
	return cmd
}

func (v verb) command(registry pipeline.Registry) *cobra.Command {
	o := options{reporter: registry.VNIDReporter}
	cmd := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long + status, Example: v.example,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, names []string) error {
			if v.join && o.to == "" {
				return errors.New("--to is required: the namespace whose virtual network the others join")
			}
			return o.run(cmd, v.request(&o), names)
		},
	}
	if v.join {
		cmd.Flags().StringVar(&o.to, "to", "", "the namespace whose virtual network the others join (required)")
		_ = cmd.RegisterFlagCompletionFunc("to", cobra.NoFileCompletions)
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for the controller and the nodes")
	o.form.Add(cmd)
	o.cluster.Add(cmd.Flags())
	return cmd
}

// run requests a change for namespaces and waits for the results.
func (o *options) run(cmd *cobra.Command, request string, names []string) error {
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(sdnv1.AddToScheme(scheme), eventsv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register types: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	if err := o.check(ctx, api, names); err != nil {
		return err
	}
	answers, err := requestAll(ctx, api, request, names)
	access := provider.TraceAccess{Objects: api, Run: podexec.Runner{Config: config, Objects: api}.Run}
	note, late := agents{o.reporter(operatorv1.NetworkTypeOpenShiftSDN), access}.await(ctx, answers)
	if note != "" {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note) // the result does not depend on it
	}
	err = errors.Join(err, late)
	if printed := o.print(cmd.OutOrStdout(), answers); printed != nil {
		return printed
	}
	if err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return nil
}

// requestAll requests a change for namespaces, one after the other. The error joins all failures.
func requestAll(ctx context.Context, api client.Client, request string, names []string) ([]answer, error) {
	answers := []answer{}
	var failed []error
	for _, name := range names {
		vnid, err := change(ctx, api, name, request)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		answers = append(answers, answer{name, vnid})
	}
	return answers, errors.Join(failed...)
}

func (o *options) print(w io.Writer, answers []answer) error {
	if !o.form.ForPeople() {
		return o.form.Write(w, answers)
	}
	for _, a := range answers {
		if _, err := fmt.Fprintf(w, "namespace %s: VNID %d\n", a.Namespace, a.VNID); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// check returns an error with all names that would be refused, before anything is requested.
func (o *options) check(ctx context.Context, api client.Client, names []string) error {
	network := &sdnv1.ClusterNetwork{}
	switch err := api.Get(ctx, client.ObjectKey{Name: sdnv1.ClusterNetworkDefault}, network); {
	case apierrors.IsForbidden(err): // the controller decides
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read the network: %w", err)
	case err != nil || network.PluginName != sdnv1.PluginMultitenant:
		return &exit.Code{Status: exit.Refused, Err: errors.New("the cluster's network is not OpenShiftSDN in mode Multitenant: namespaces have no networks that could be joined; use NetworkPolicies")}
	}
	var all sdnv1.NetNamespaceList
	if err := api.List(ctx, &all); err != nil {
		return &exit.Code{Status: exit.Refused, Err: fmt.Errorf("list NetNamespaces: %w", err)}
	}
	var failed []error
	for _, name := range slices.Concat(names, []string{o.to}) {
		if name != "" && !slices.ContainsFunc(all.Items, func(n sdnv1.NetNamespace) bool { return n.Name == name }) {
			failed = append(failed, fmt.Errorf("there is no NetNamespace %q: write the name of a namespace", name))
		}
	}
	if slices.Contains(names, o.to) {
		failed = append(failed, fmt.Errorf("namespace %s cannot join itself", o.to))
	}
	if err := errors.Join(failed...); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return nil
}

// change requests a change and returns the VNID after the controller has processed it. It returns an error if the controller refused the request.
func change(ctx context.Context, api client.Client, name, request string) (uint32, error) {
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, sdnv1.AnnotationChangeNetwork, request)
	if err := api.Patch(ctx, n, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return 0, fmt.Errorf("request a change for namespace %s: %w", name, err)
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		if err := api.Get(ctx, client.ObjectKey{Name: name}, n); err != nil && ctx.Err() == nil {
			return 0, fmt.Errorf("read NetNamespace %s: %w", name, err)
		}
		if _, waits := n.Annotations[sdnv1.AnnotationChangeNetwork]; !waits {
			break
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("namespace %s: the controller has not answered the request %q; does DaemonSet openshift-sdn/sdn-controller run? %w", name, request, ctx.Err())
		case <-ticker.C:
		}
	}
	var all sdnv1.NetNamespaceList
	if err := api.List(ctx, &all); err != nil {
		return 0, fmt.Errorf("list NetNamespaces: %w", err)
	}
	if !granted(all.Items, n, request) {
		return 0, refusal(ctx, api, n, request)
	}
	return n.NetID, nil
}

// granted reports whether a namespace has what was requested.
func granted(all []sdnv1.NetNamespace, n *sdnv1.NetNamespace, request string) bool {
	target, join := strings.CutPrefix(request, sdnv1.ChangeJoin)
	switch {
	case join:
		return slices.ContainsFunc(all, func(o sdnv1.NetNamespace) bool { return o.Name == target && o.NetID == n.NetID })
	case request == sdnv1.ChangeGlobal:
		return n.NetID == sdnv1.VNIDGlobal
	}
	return n.NetID >= sdnv1.VNIDFirst && !slices.ContainsFunc(all, func(o sdnv1.NetNamespace) bool { return o.Name != n.Name && o.NetID == n.NetID })
}

// refusal returns the error of a refused request, with the reason that the controller reports by an event.
func refusal(ctx context.Context, api client.Client, n *sdnv1.NetNamespace, request string) error {
	waiting, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		var events eventsv1.EventList
		err := api.List(waiting, &events, client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"reason": sdnv1.ReasonChangeRefused})
		for _, e := range events.Items {
			if e.Regarding.Name == n.Name && strings.Contains(e.Note, fmt.Sprintf("request %q", request)) {
				return fmt.Errorf("namespace %s keeps VNID %d: %s", n.Name, n.NetID, e.Note)
			}
		}
		select {
		case <-waiting.Done():
		case <-ticker.C:
			if !apierrors.IsForbidden(err) {
				continue
			}
		}
		return fmt.Errorf("namespace %s keeps VNID %d: the controller refused the request %q; events of NetNamespace %s have the reason", n.Name, n.NetID, request, n.Name)
	}
}
