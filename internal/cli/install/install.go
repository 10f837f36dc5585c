// Package install implements `cno install`, `cno upgrade` and `cno images`, which install the operator of the binary's release,
// upgrade to it, and list the required images.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/status"
)

// options are the command-line options.
type options struct {
	images                             string
	wait, plan, keepNetwork, downgrade bool
	timeout                            time.Duration
	form                               output.Format
	cluster                            kubeconfig.Flags
}

func (o *options) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.images, "images", release.DefaultPrefix, "registry and path of the images, without a slash at the end")
	f.BoolVar(&o.wait, "wait", false, "wait until the operator runs")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait")
	o.form.Add(cmd)
	o.cluster.Add(f)
}

// New creates the command install.
func New() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install the operator",
		Long: `Applies the manifests that this program contains: CRDs, permissions, admission policies and the
operator, with the images of the same release. With one control-plane node, the operator has one
replica. An interrupted installation is completed. The command prints the platform of the nodes, if
it is recognized, and what a network needs there.

A cluster with another network or network operator, which the message names, is refused, since two
networks interfere with each other. With --keep-network another network may stay: then the Network
must have the type of a third-party network.

Exit status: 0 installed, and with --wait running; 1 the cluster is refused, the user may not
install, or the operator does not run in time; 2 the cluster does not answer, or the command line
is wrong.`,
		Example: `  cno install --wait
  cno install --images registry.example/net --wait`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.install(cmd) },
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.keepNetwork, "keep-network", false, "install although the cluster has another network, which stays")
	return cmd
}

// target is a cluster with the objects to install.
type target struct {
	cluster preview.Cluster
	found   found
	objects []*unstructured.Unstructured
	version string
}

// open reads the cluster and renders the objects for it.
func (o *options) open(ctx context.Context) (target, error) {
	set, err := release.Linked(o.images)
	if err != nil {
		return target{}, fmt.Errorf("--images: %w", err)
	}
	if o.cluster.Namespace != status.OperatorNamespace {
		return target{}, fmt.Errorf("--namespace %s: the manifests install the operator in %s, and nowhere else", o.cluster.Namespace, status.OperatorNamespace)
	}
	config, err := o.cluster.Config()
	if err != nil {
		return target{}, err
	}
	t := target{version: set.Version}
	if t.cluster, err = preview.Open(config, o.cluster.Namespace); err != nil {
		return target{}, err
	}
	if t.found, err = observe(ctx, t.cluster); err != nil {
		return target{}, err
	}
	t.objects, err = release.Manifests(set, t.found.replicas())
	return t, err
}

func (o *options) install(cmd *cobra.Command) error {
	t, err := o.open(cmd.Context())
	if err != nil {
		return err
	}
	if err := t.found.refuseInstall(t.version, o.keepNetwork); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	return o.apply(cmd, t, nil)
}

// result is the output of install and upgrade.
type result struct {
	// Version is that of the binary's release, From that of the previous operator; empty if there was none.
	Version string `json:"version"`
	From    string `json:"from,omitempty"`
	// Platforms are the distribution and the cloud of the nodes, as far as they are recognized.
	Platforms []string `json:"platforms"`
	// Applied is false if nothing was changed, Running true if the command waited until the operator runs.
	Applied bool `json:"applied"`
	Running bool `json:"running"`
	// Objects are those of the release in the order in which they are applied, and then those that are deleted.
	Objects []change `json:"objects"`
	// Notes are sentences about the cluster, Next is the next step for the user.
	Notes []string `json:"notes"`
	Next  string   `json:"next"`
}

// change is the action on an object: apply or delete, or with --plan create, change, keep or delete.
type change struct {
	Action string `json:"action"`
	Object string `json:"object"`
}

// apply applies all objects, waits if requested, and prints the next step. Obsolete objects are deleted once the operator runs.
func (o *options) apply(cmd *cobra.Command, t target, obsolete []*unstructured.Unstructured) error {
	progress := cmd.OutOrStdout()
	if !o.form.ForPeople() {
		progress = cmd.ErrOrStderr()
	}
	a := applier{cluster: t.cluster, out: progress}
	if err := a.all(cmd.Context(), t.objects); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	if o.wait {
		ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
		defer cancel()
		if err := a.running(ctx); err != nil {
			return &exit.Code{Status: exit.Refused, Err: err}
		}
		if err := a.remove(ctx, obsolete); err != nil {
			return &exit.Code{Status: exit.Refused, Err: err}
		}
	}
	res := t.result(cmd.Context())
	res.Applied, res.Running = true, o.wait
	for _, object := range t.objects {
		res.Objects = append(res.Objects, change{"apply", label(object)})
	}
	if o.wait {
		res.delete(obsolete)
	} else if len(obsolete) > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("objects of the previous release are kept, because its pods may still use them: %s. To delete them once the new pods run: cno upgrade --wait",
			phrase.Names(describe(obsolete), maxNames)))
	}
	if !o.form.ForPeople() {
		return o.form.Write(cmd.OutOrStdout(), res)
	}
	return res.print(cmd.OutOrStdout())
}

// result returns the output before anything is applied.
func (t target) result(ctx context.Context) result {
	res := result{
		Version: t.version, From: t.found.version(), Platforms: append([]string{}, t.found.platforms...), Objects: []change{}, Notes: append([]string{}, t.found.notes...), Next: "cno status",
	}
	for _, name := range t.found.proxies {
		res.Notes = append(res.Notes, name+" is another kube-proxy. Delete it, or set spec.deployKubeProxy: false in the Network.")
	}
	if !t.found.network {
		res.Notes = append(res.Notes, t.found.addressNotes(ctx)...)
		res.Next = "write a Network, of which config/samples has examples, and run: cno apply -f network.yaml --watch"
	}
	return res
}

func (r result) print(out io.Writer) error {
	state := "is installed"
	if r.Running {
		state = "is installed and runs"
	}
	lines := []string{fmt.Sprintf("The operator %s %s.", r.Version, state)}
	if len(r.Platforms) > 0 {
		lines = append(lines, "Platform: "+strings.Join(r.Platforms, ", ")+".")
	}
	for _, note := range r.Notes {
		lines = append(lines, "Note: "+note)
	}
	for _, line := range append(lines, "Next: "+r.Next) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// errNotInstalled is the error of an upgrade if the operator is not installed.
var errNotInstalled = errors.New("the operator is not installed; to install it: cno install")
