package install

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/cluster-network-operator/cno/internal/cli/exit"
)

// NewUpgrade creates the command upgrade.
func NewUpgrade() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "upgrade",
		Short: "Upgrade the installed operator to this program's release",
		Long: `Applies the manifests that this program contains to a cluster in which the operator is installed.
The operator then rolls out the network in batches of nodes; cno status --watch follows the rollout.
With --plan, the command prints which objects would change, and changes nothing. With --wait, it
deletes obsolete objects of an earlier release once the operator runs; CRDs and namespaces are kept.

An upgrade is refused while the Network has Upgradeable=False, for example during a rollout. A
version older than the installed one needs --downgrade; it may be one minor version older.

Exit status: 0 upgraded, and with --wait running, or, with --plan, printed; 1 the upgrade is
refused, the user may not install, or the operator does not run in time; 2 the cluster does not
answer, or the command line is wrong.`,
		Example: `  cno upgrade --plan
  cno upgrade --images registry.example/net --wait`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.upgrade(cmd) },
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.plan, "plan", false, "only print what would change")
	cmd.Flags().BoolVar(&o.downgrade, "downgrade", false, "allow a version older than the installed one")
	return cmd
}

func (o *options) upgrade(cmd *cobra.Command) error {
	t, err := o.open(cmd.Context())
	if err != nil {
		return err
	}
	if err := t.found.refuseUpgrade(t.version, o.downgrade); err != nil {
		return &exit.Code{Status: exit.Refused, Err: err}
	}
	obsolete, err := applier{cluster: t.cluster}.obsolete(cmd.Context(), t.objects)
	if err != nil {
		return err
	}
	if o.plan {
		res, err := t.planned(cmd.Context())
		if err != nil {
			return err
		}
		res.delete(obsolete)
		if !o.form.ForPeople() {
			return o.form.Write(cmd.OutOrStdout(), res)
		}
		return res.printPlan(cmd.OutOrStdout())
	}
	return o.apply(cmd, t, obsolete)
}

// refuseUpgrade returns an error if the operator must not be replaced.
func (f found) refuseUpgrade(version string, downgrade bool) error {
	if err := f.refuse(); err != nil {
		return err
	}
	if f.operator == nil {
		return errNotInstalled
	}
	if f.notUpgradeable != "" {
		return fmt.Errorf("the Network is not upgradeable now: %s", f.notUpgradeable)
	}
	installed, err := utilversion.ParseSemantic(f.version())
	if err != nil { // installed before versions were recorded
		return nil //nolint:nilerr
	}
	target, err := utilversion.ParseSemantic(version)
	if err != nil {
		return fmt.Errorf("read the version of this program: %w", err)
	}
	switch {
	case !target.LessThan(installed):
	case !downgrade:
		return fmt.Errorf("the installed operator, %s, is newer than that of this program, %s; to install the older one: cno upgrade --downgrade", f.version(), version)
	case installed.Major() != target.Major() || installed.Minor() > target.Minor()+1:
		return fmt.Errorf("the installed operator is %s: it can be downgraded by one minor version, not to %s", f.version(), version)
	}
	return nil
}

// planned returns the change of each object by dry runs.
func (t target) planned(ctx context.Context) (result, error) {
	a := applier{cluster: t.cluster}
	res := t.result(ctx)
	res.Next = "cno upgrade --wait"
	for _, o := range t.objects {
		r, err := a.resource(o)
		if err != nil {
			return res, err
		}
		live, err := r.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			res.Objects = append(res.Objects, change{"create", label(o)})
			continue
		}
		if err != nil {
			return res, fmt.Errorf("read %s: %w", label(o), err)
		}
		next, err := a.one(ctx, o, []string{metav1.DryRunAll})
		if err != nil {
			return res, fmt.Errorf("plan %s: %w", label(o), err)
		}
		action := "change"
		if same(live, next) {
			action = "keep"
		}
		res.Objects = append(res.Objects, change{action, label(o)})
	}
	return res, nil
}

func (r result) printPlan(out io.Writer) error {
	kept := 0
	lines := []string{fmt.Sprintf("Upgrade of the operator from %s to %s:", cmp.Or(r.From, "a version without a name"), r.Version)}
	for _, c := range r.Objects {
		if c.Action == "keep" {
			kept++
			continue
		}
		lines = append(lines, "  "+c.Action+" "+c.Object)
	}
	lines = append(lines, fmt.Sprintf("%d objects stay as they are. Nothing was changed. Next: %s", kept, r.Next))
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
