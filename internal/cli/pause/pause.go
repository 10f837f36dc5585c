// Package pause implements `cno pause` and `cno resume`, which pause the operator with a record of user, time and reason, and
// resume it.
package pause

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// options are the command-line options.
type options struct {
	reason  string
	form    output.Format
	cluster kubeconfig.Flags
	now     func() time.Time
}

// state is the output: whether the operator is paused, by whom, since when and why, and whether the command changed that.
type state struct {
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"`
	By      string `json:"by,omitempty"`
	At      string `json:"at,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// New creates the command pause. now is the clock.
func New(now func() time.Time) *cobra.Command {
	o := options{now: now}
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Pause the operator: it changes nothing until cno resume",
		Long: `Pauses the operator: it rolls nothing out, repairs nothing and starts no upgrade until cno resume.
The network keeps running. Annotations of Network/cluster, and the message of its condition
Upgradeable, record who paused it, since when and why. A second pause replaces these values.

Exit status: 0 paused; 1 there is no network, or the user may not change it; 2 the cluster does not
answer, or the command line is wrong.`,
		Example:           "  cno pause --reason 'switches are replaced until noon'\n  cno pause -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, o.pause) },
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "the reason, shown to everyone who finds the network paused")
	o.form.Add(cmd)
	o.cluster.Add(cmd.Flags())
	return cmd
}

// NewResume creates the command resume.
func NewResume() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Resume the operator after a pause",
		Long: `Ends a pause. Changes of the configuration since then are rolled out, and objects that were edited
manually are repaired; cno plan and cno diff preview this.

Exit status: 0 resumed, or not paused; 1 there is no network, or the user may not change it; 2 the
cluster does not answer, or the command line is wrong.`,
		Example:           "  cno diff\n  cno resume",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, o.resume) },
	}
	o.form.Add(cmd)
	o.cluster.Add(cmd.Flags())
	return cmd
}

// run reads the network, changes it, and reports it.
func (o *options) run(cmd *cobra.Command, change func(context.Context, preview.Cluster, state) (state, error)) error {
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	cluster, err := preview.Open(config, o.cluster.Namespace)
	if err != nil {
		return err
	}
	object, err := cluster.Network(cmd.Context())
	if apierrors.IsNotFound(err) {
		return &exit.Code{Status: exit.Refused, Err: fmt.Errorf("there is no Network/cluster: nothing can be paused: %w", err)}
	}
	if err != nil {
		return fmt.Errorf("read network: %w", err)
	}
	next, err := change(cmd.Context(), cluster, stateOf(object))
	if apierrors.IsForbidden(err) {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	if err != nil {
		return err
	}
	if !o.form.ForPeople() {
		return o.form.Write(cmd.OutOrStdout(), next)
	}
	return next.print(cmd.OutOrStdout())
}

func (o *options) pause(ctx context.Context, cluster preview.Cluster, _ state) (state, error) {
	by, err := user(ctx, cluster)
	if err != nil {
		return state{}, err
	}
	next := state{Paused: true, Changed: true, By: by, At: o.now().UTC().Format(time.RFC3339), Reason: o.reason}
	annotations := map[string]any{pipeline.PausedAnnotation: "true", pipeline.PausedByAnnotation: by, pipeline.PausedAtAnnotation: next.At, pipeline.PausedReasonAnnotation: nil}
	if o.reason != "" {
		annotations[pipeline.PausedReasonAnnotation] = o.reason
	}
	return next, cluster.Annotate(ctx, annotations)
}

func (o *options) resume(ctx context.Context, cluster preview.Cluster, before state) (state, error) {
	if !before.Paused {
		return before, nil
	}
	next := before
	next.Paused, next.Changed = false, true
	return next, cluster.Annotate(ctx, map[string]any{pipeline.PausedAnnotation: nil, pipeline.PausedByAnnotation: nil, pipeline.PausedAtAnnotation: nil, pipeline.PausedReasonAnnotation: nil})
}

// stateOf returns the state from the annotations of a Network.
func stateOf(o *unstructured.Unstructured) state {
	a := o.GetAnnotations()
	return state{Paused: a[pipeline.PausedAnnotation] == "true", By: a[pipeline.PausedByAnnotation], At: a[pipeline.PausedAtAnnotation], Reason: a[pipeline.PausedReasonAnnotation]}
}

// user returns the user name of the caller from the API server.
func user(ctx context.Context, cluster preview.Cluster) (string, error) {
	gvr := schema.GroupVersionResource{Group: "authentication.k8s.io", Version: "v1", Resource: "selfsubjectreviews"}
	question := &unstructured.Unstructured{Object: map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": "SelfSubjectReview"}}
	review, err := cluster.API.Resource(gvr).Create(ctx, question, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask who is asking: %w", err)
	}
	name, _, err := unstructured.NestedString(review.Object, "status", "userInfo", "username")
	return name, err
}

func (s state) print(w io.Writer) error {
	text := fmt.Sprintf("Paused by %s at %s. Nothing is changed until: cno resume\n", s.By, s.At)
	switch {
	case !s.Paused && s.Changed && s.By != "":
		text = fmt.Sprintf("The operator is resumed. It had been paused by %s at %s.\n", s.By, s.At)
	case !s.Paused && s.Changed:
		text = "The operator is not paused.\n"
	case !s.Paused:
		text = "The operator is not paused.\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
