// Package history implements `cno history`, which lists the revisions of the network with time, author and outcome.
package history

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/kubeconfig"
	"github.com/cluster-network-operator/cno/internal/output"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/status"
)

// New creates the command.
func New() *cobra.Command {
	var cluster kubeconfig.Flags
	var form output.Format
	cmd := &cobra.Command{
		Use:   "history [REVISION]",
		Short: "List the networks that were rolled out",
		Long: `Lists the last revisions of the network, the newest first: when each was applied, by which
version of the operator, who changed what, and its outcome. With a revision, its whole
configuration is printed, with every default.

Exit status: 0 listed; 2 there is no such revision, or the cluster does not answer.`,
		Example:           "  cno history\n  cno history 3 -o yaml",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: preview.CompleteRevisions(&cluster),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := read(cmd.Context(), cluster)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return one(cmd.OutOrStdout(), all, args[0], form)
			}
			return list(cmd.OutOrStdout(), all, form)
		},
	}
	form.Add(cmd)
	cluster.Add(cmd.Flags())
	return cmd
}

// read returns all revisions of a cluster, the newest first.
func read(ctx context.Context, flags kubeconfig.Flags) ([]Entry, error) {
	config, err := flags.Config()
	if err != nil {
		return nil, err
	}
	cluster, err := preview.Open(config, flags.Namespace)
	if err != nil {
		return nil, err
	}
	return Of(ctx, cluster)
}

// Of returns all revisions of a cluster, the newest first. It uses only Client and Namespace of the cluster.
func Of(ctx context.Context, cluster preview.Cluster) ([]Entry, error) {
	records, err := cluster.Records(ctx)
	if err != nil {
		return nil, err
	}
	var network operatorv1.Network
	err = cluster.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network)
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("read Network/%s: %w", operatorv1.NetworkName, err)
	}
	return entries(records, network.Status.Conditions)
}

// Entry is one revision of the network.
type Entry struct {
	applied.Revision
	// Current is true for the applied revision.
	Current bool `json:"current"`
	// Stalled is the cause of the stalled rollout of the current revision; empty if it is not stalled.
	Stalled string `json:"stalled,omitempty"`
	// Changes are the fields that differ from the previous revision; empty for the oldest.
	Changes []pipeline.Change `json:"changes"`
	// ChangedImages are the names of the images that differ from those of the previous revision.
	ChangedImages []string `json:"changedImages,omitempty"`
}

// entries returns all revisions, the newest first. The conditions are those of the network.
func entries(r preview.Records, conditions []osv1.OperatorCondition) ([]Entry, error) {
	var all []Entry
	var before *applied.Revision
	for i := range r.History {
		rev := r.History[i]
		e := Entry{Revision: rev, Current: rev.Number == r.Record.BaselineNumber(), Changes: []pipeline.Change{}}
		if e.Current && e.Outcome == applied.OutcomeApplied {
			e.Stalled = stalled(conditions)
		}
		if before != nil {
			old, err := before.Snapshot()
			if err != nil {
				return nil, err
			}
			updated, err := rev.Snapshot()
			if err != nil {
				return nil, err
			}
			e.Changes = append(e.Changes, pipeline.Differences(old.Spec(), updated.Spec())...)
			e.ChangedImages = changedImages(before.Images, rev.Images)
		}
		all, before = append(all, e), &r.History[i]
	}
	slices.Reverse(all)
	return all, nil
}

// stalled returns the message of the condition of a stalled rollout; "" if there is none.
func stalled(conditions []osv1.OperatorCondition) string {
	for _, c := range conditions {
		if strings.HasSuffix(c.Type, osv1.OperatorStatusTypeDegraded) && c.Status == osv1.ConditionTrue && c.Reason == status.RolloutHung {
			return c.Message
		}
	}
	return ""
}

// changedImages returns the variables of images that differ between two revisions; none if one is of an older operator, which did not
// record images.
func changedImages(old, updated map[string]string) []string {
	var names []string
	for name, image := range updated {
		if was, ok := old[name]; ok && was != image {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func list(w io.Writer, all []Entry, form output.Format) error {
	if !form.ForPeople() {
		return form.Write(w, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "No network was rolled out yet.")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if _, err := fmt.Fprintln(table, "REVISION\tTIME\tVERSION\tBY\tOUTCOME\tCHANGED"); err != nil {
		return err
	}
	for _, e := range all {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", number(e), e.Time.Format(time.RFC3339), e.OperatorVersion, by(e), e.OutcomeText(), changed(e)); err != nil {
			return err
		}
	}
	return table.Flush()
}

// by returns the field manager that wrote the specification; "-" if unknown.
func by(e Entry) string { return cmp.Or(e.By, "-") }

func number(e Entry) string {
	if e.Current {
		return strconv.Itoa(e.Number) + " *"
	}
	return strconv.Itoa(e.Number)
}

// OutcomeText returns the outcome of the rollout with remarks.
func (e Entry) OutcomeText() string {
	text := string(e.Outcome)
	if e.Stalled != "" {
		text += ", stalled"
	}
	if e.Forced {
		text += ", forced"
	}
	if e.Acknowledged != "" {
		text += ", acknowledged"
	}
	return text
}

// ChangedNames returns the paths below spec of the fields that differ from the previous revision, and the changed images.
func (e Entry) ChangedNames() []string {
	var names []string
	for _, c := range e.Changes {
		names = append(names, strings.TrimPrefix(c.Field, "spec."))
	}
	return append(names, e.ChangedImages...)
}

func changed(e Entry) string { return cmp.Or(strings.Join(e.ChangedNames(), ", "), "-") }

// one prints a revision.
func one(w io.Writer, all []Entry, name string, form output.Format) error {
	for _, e := range all {
		if strconv.Itoa(e.Number) != name {
			continue
		}
		if form.ForPeople() {
			form = output.YAML
		}
		return form.Write(w, e)
	}
	return fmt.Errorf("there is no revision %q; cno history lists those that are kept", name)
}
