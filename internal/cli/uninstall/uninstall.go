// Package uninstall implements `cno uninstall`, which removes the network, the operator and its CRDs in an order in which
// each part can still clean up. It can be repeated after a partial removal.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// options are the command-line options.
type options struct {
	yes, force bool
	timeout    time.Duration
	form       output.Format
	cluster    kubeconfig.Flags
}

// result is the output. Lists are in the order of deletion.
type result struct {
	// Done is false if nothing was changed.
	Done bool `json:"done"`
	// Deleted are the objects that are, or would be, deleted.
	Deleted []string `json:"deleted"`
	// Stays are sentences about remaining objects and files.
	Stays []string `json:"stays"`
	// Blocking are sentences about pods that must be deleted first.
	Blocking []string `json:"blocking"`
}

// New creates the command. operands are those of all networks that can be installed.
func New(operands provider.Operands) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Uninstall the network, the operator and its CRDs",
		Long: `Stops the operator, cleans every node (routes, devices, rules, files), and deletes the objects that
the operator applied, its installation, its configuration and its CRDs. It also completes an
uninstallation that was started manually, in any order: with the operator, Network/cluster, the CRDs
or the namespaces. If the operator's records are missing, so that the applied objects are unknown,
--force deletes by the label of the operator's objects.

Running pods lose their network. Pods with further networks must be deleted first, since only the
daemon on their node can detach them: while there are any, nothing is changed, and they are named.

Without --yes, the command only prints what it would do. It lists everything that remains, and how to
remove it: objects that existed before the operator took them over and CRDs that belong to OpenShift
(the operator must not delete either), directories on nodes that no component of the network empties
(delete them there manually), and nodes that do not answer (restart them: that removes routes, devices
and rules).

Exit status: 0 everything is deleted except what is listed, or, without --yes, nothing is installed;
1 there is something to delete and --yes is missing, pods must be deleted first, or an object could
not be deleted; 2 the cluster does not answer, or the command line is wrong.`,
		Example:           "  cno uninstall\n  cno uninstall --yes\n  cno uninstall --yes --force",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd, operands) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.yes, "yes", false, "uninstall; without it, only print what would be deleted")
	f.BoolVar(&o.force, "force", false, "delete by label if the operator's records are missing")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait until everything is deleted")
	o.form.Add(cmd)
	o.cluster.Add(f)
	return cmd
}

func (o *options) run(cmd *cobra.Command, operands provider.Operands) error {
	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	cluster, err := preview.Open(config, o.cluster.Namespace)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	progress := cmd.ErrOrStderr()
	r := remover{Cluster: cluster, operands: operands, logf: func(format string, args ...any) { _, _ = fmt.Fprintf(progress, format+"\n", args...) }}
	parts, err := r.find(ctx)
	if err != nil {
		return err
	}
	res := result{Deleted: []string{}, Stays: parts.stays, Blocking: append([]string{}, parts.blocking...)}
	for _, o := range parts.all() {
		res.Deleted = append(res.Deleted, o.String())
	}
	switch {
	case len(res.Deleted) == 0:
		res.Done = true
	case parts.unrecorded && !o.force:
		return &exit.Code{Status: exit.Refused, Err: errors.New("the operator's records are missing, so that the objects it applied are only known by their label; to delete by label: --force")}
	case o.yes && len(parts.blocking) > 0:
		return &exit.Code{Status: exit.Refused, Err: errors.New("nothing was changed: " + strings.Join(parts.blocking, "; "))}
	case o.yes:
		if err := r.remove(ctx, parts); err != nil {
			return &exit.Code{Status: exit.Refused, Err: err}
		}
		res.Done, res.Stays = true, append(res.Stays, r.stays...)
	}
	if err := o.print(cmd.OutOrStdout(), res); err != nil {
		return err
	}
	if !res.Done {
		return &exit.Code{Status: exit.Refused}
	}
	return nil
}

func (o *options) print(w io.Writer, res result) error {
	if !o.form.ForPeople() {
		return o.form.Write(w, res)
	}
	verb := "Would be deleted after every node is cleaned:"
	switch {
	case len(res.Deleted) == 0:
		verb = "There is nothing to delete."
	case res.Done:
		verb = "Deleted:"
	}
	lines := append([]string{verb}, indented(res.Deleted)...)
	if len(res.Stays) > 0 {
		lines = append(append(lines, "Stays:"), indented(res.Stays)...)
	}
	if len(res.Blocking) > 0 {
		lines = append(append(lines, "First:"), indented(res.Blocking)...)
	}
	if !res.Done {
		lines = append(lines, "Running pods would lose their network. To uninstall: cno uninstall --yes")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func indented(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = "  " + line
	}
	return out
}
