package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// World is what a specification is compared with.
type World struct {
	// Input is that of the pipeline, but for what is wanted.
	Input pipeline.Input
	// Look returns what is there of some objects.
	Look func(context.Context, []apply.Ref) (plan.Lookup, error)
	// UsedUp is the acknowledgement that was used up last.
	UsedUp string
	// Inventory and Serves are those of plan.Input.
	Inventory plan.Inventory
	Serves    func(schema.GroupKind) bool
	// DryRun returns an object as it will be after an action, as the API server says. It is nil where there is none:
	// then what is rendered is told.
	DryRun DryRun
	// Admit asks the API server for the object itself, without storing it, with the acknowledgement that it would carry. It is nil
	// where there is no API server.
	Admit func(ctx context.Context, object map[string]any, acknowledgement string) error
	// Notes are what to know of the world.
	Notes []string
}

// DryRun returns an object as it will be after an action.
type DryRun func(context.Context, plan.Action) (*unstructured.Unstructured, error)

// Run reports what the operator will do with a configuration. The error is for what cannot be previewed: a cluster that
// does not answer, a bug.
func Run(ctx context.Context, p pipeline.Pipeline, in offline.Input, w World) (Result, error) {
	a := Result{Errors: []offline.Problem{}, Changes: []pipeline.Change{}, Objects: []Object{}, Notes: w.Notes, file: in.File}
	spec, problems := in.Spec()
	if len(problems) > 0 {
		var err error
		a.Verdict = Invalid
		a.Errors, err = in.Judge(ctx, p, nil)
		return a, err
	}
	w.Input.Desired = spec
	res, err := p.Run(ctx, w.Input, pipeline.Check)
	if err != nil {
		wrong, ok := in.Problems(err)
		if !ok {
			return a, explain(err)
		}
		a.Errors = wrong
	}
	a.Verdict = verdict(err, w.Input.Applied, res)
	if a.Verdict != Invalid {
		if wrong := in.Complete(nil); len(wrong) > 0 {
			a.Verdict, a.Errors = Invalid, wrong
		}
	} else {
		a.Errors = in.Complete(a.Errors)
	}
	if a.Verdict == Invalid {
		return a, nil
	}
	a.Filled, a.Acknowledgement, a.Acknowledged = res.Spec, res.Acknowledgement, res.Acknowledged
	if res.Changes != nil {
		a.Changes = res.Changes
	}
	if a.Acknowledgement != "" && w.Input.Revision == 0 {
		a.Notes = append(a.Notes, "the hash to acknowledge is that of no revision: plan against the cluster for the one that counts there")
	}
	for _, r := range slices.Concat(res.Ineffective, res.Warnings) {
		a.Notes = append(a.Notes, r.String())
	}
	for _, r := range res.Advice {
		a.Notes = append(a.Notes, r.String())
	}
	if a.Verdict == Refused {
		a.Notes = append(a.Notes, "the applied configuration stays active, and the operator keeps managing it")
		a.Notes = append(a.Notes, conflicts(ctx, p, w.Input)...)
		return a, nil
	}
	w.Input.Acknowledged = res.Acknowledgement
	if err := a.admit(ctx, in, w); err != nil {
		return a, err
	}
	err = a.objects(ctx, p, w)
	if len(a.Blocked) > 0 && a.Applies() {
		a.Verdict = Blocked
	}
	return a, err
}

// admit asks the API server whether it takes the configuration itself: a policy or a webhook of a third party may refuse it.
func (a *Result) admit(ctx context.Context, in offline.Input, w World) error {
	if w.Admit == nil || in.Object == nil {
		return nil
	}
	err := w.Admit(ctx, in.Object, a.Acknowledgement)
	switch {
	case err == nil:
	case meta.IsNoMatchError(err):
		a.Notes = append(a.Notes, fmt.Sprintf("%s: not verified by a dry run: its CRD is not installed", in.Name()))
	case lacksPermission(err):
		a.Notes = append(a.Notes, fmt.Sprintf("%s: not verified by a dry run: no permission to patch it", in.Name()))
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsInternalError(err), apierrors.IsRequestEntityTooLargeError(err):
		a.Blocked = append(a.Blocked, fmt.Sprintf("%s: the API server refuses it: %v", in.Name(), err))
	default:
		return fmt.Errorf("dry run of %s: %w", in.Name(), err)
	}
	return nil
}

// lacksPermission reports whether an error is that the user has no permission, which says nothing about the operator.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "is forbidden: User ")
}

// explain explains what prevents a preview.
func explain(err error) error {
	if errors.Is(err, pipeline.ErrHostMTUUnknown) {
		return fmt.Errorf("%w: give --host-mtu", err)
	}
	return err
}

func verdict(err error, applied *operatorv1.NetworkSpec, res pipeline.Result) Verdict {
	switch {
	case err != nil && pipeline.StageOf(err) != pipeline.Check:
		return Invalid
	case res.Acknowledgement != "":
		return NeedsAcknowledgement
	case err != nil:
		return Refused
	case applied != nil && len(res.Changes) == 0:
		return Unchanged
	}
	return Safe
}

// objects adds what will become of objects.
func (a *Result) objects(ctx context.Context, p pipeline.Pipeline, w World) error {
	if a.Filled.ManagementState == osv1.Unmanaged {
		a.Notes = append(a.Notes, "spec.managementState is Unmanaged: no object is touched")
		return nil
	}
	res, err := p.Run(ctx, w.Input, pipeline.Render)
	if err != nil && len(res.Outputs) == 0 {
		return err
	}
	in := plan.Input{Inventory: w.Inventory, Serves: w.Serves, Eventual: true}
	for _, o := range res.Outputs {
		a.heard(o, &in)
	}
	if in.Desired, err = network.Desired(p.Registry, res, w.Input.Cluster, a.usedUp(w)); err != nil {
		return err
	}
	if in.Live, err = w.Look(ctx, refs(in)); err != nil {
		return err
	}
	made, err := plan.Make(in)
	if err != nil {
		return err
	}
	for _, action := range made.Actions {
		if action.Verb == plan.None || action.Verb == plan.Keep && in.Incomplete != "" {
			continue
		}
		if live, ok := in.Live(action.Key); ok && paced(action, live) {
			a.Notes = append(a.Notes, fmt.Sprintf("%s: the operator paces its rollout: its updateStrategy is the rendered one again once the rollout has finished", action.Key))
			continue
		}
		if err := a.add(ctx, action, in.Live, w.DryRun); err != nil {
			return err
		}
	}
	return nil
}

// paced reports whether an object differs from what is rendered only in how many pods are replaced at once, and the operator itself
// has written that: it does while a rollout goes on.
func paced(action plan.Action, live *unstructured.Unstructured) bool {
	if action.Key.Kind != "DaemonSet" || action.Verb != plan.Apply || len(action.Reasons) == 0 {
		return false
	}
	if slices.ContainsFunc(action.Reasons, func(why string) bool { return !strings.HasPrefix(why, "spec.updateStrategy") }) {
		return false
	}
	own := false
	for _, e := range live.GetManagedFields() {
		if e.FieldsV1 == nil || !strings.Contains(e.FieldsV1.GetRawString(), `"f:updateStrategy"`) {
			continue
		}
		if !strings.HasPrefix(e.Manager, network.FieldManager) {
			return false
		}
		own = true
	}
	return own
}

// usedUp is the acknowledgement that is used up then.
func (a *Result) usedUp(w World) string {
	if a.Acknowledgement != "" {
		return a.Acknowledgement
	}
	return w.UsedUp
}

// heard notes what a component says of what it renders. While it does not render everything, nothing is deleted.
func (a *Result) heard(o pipeline.ComponentOutput, in *plan.Input) {
	switch {
	case o.Err != nil:
		in.Incomplete = fmt.Sprintf("%s cannot be rendered: %v", o.Name, o.Err)
		a.Notes = append(a.Notes, in.Incomplete)
	case o.Output.Waiting != "":
		in.Incomplete = fmt.Sprintf("%s: %s", o.Name, o.Output.Waiting)
		a.Notes = append(a.Notes, in.Incomplete)
	}
	if o.Output.Unavailable != "" {
		a.Notes = append(a.Notes, fmt.Sprintf("%s: %s", o.Name, o.Output.Unavailable))
	}
}

// add reports one action.
func (a *Result) add(ctx context.Context, action plan.Action, live plan.Lookup, dryRun DryRun) error {
	o := Object{
		Action: action.Verb, APIVersion: action.GVK().GroupVersion().String(), Kind: action.Key.Kind,
		Namespace: action.Key.Namespace, Name: action.Key.Name, Reasons: action.Reasons,
	}
	var before, after *unstructured.Unstructured
	if there, found := live(action.Key); found {
		before = there
	}
	if action.Writes() {
		after = action.Wanted()
		if dryRun != nil {
			answered, err := dryRun(ctx, action)
			switch {
			case apierrors.IsNotFound(err), meta.IsNoMatchError(err): // its namespace or CRD is created first
			case err != nil && lacksPermission(err):
				a.Notes = append(a.Notes, fmt.Sprintf("%s: not verified by a dry run: no permission to patch it", action.Key))
			case err != nil:
				a.Blocked = append(a.Blocked, fmt.Sprintf("%s: the API server refuses it: %v", action.Key, err))
			default:
				after = answered
			}
		}
	}
	if action.Writes() || action.Verb == plan.Delete {
		diff, err := difference(action.Key, before, after)
		if err != nil {
			return err
		}
		o.Diff = diff
	}
	a.Objects = append(a.Objects, o)
	return nil
}

// refs names everything that is wanted or was applied.
func refs(in plan.Input) []apply.Ref {
	var all []apply.Ref
	seen := map[manifest.Key]bool{}
	add := func(key manifest.Key, version string) {
		if !seen[key] && (in.Serves == nil || in.Serves(key.GroupKind())) {
			seen[key] = true
			all = append(all, apply.Ref{GroupVersionKind: key.GroupKind().WithVersion(version), NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}})
		}
	}
	for _, o := range in.Desired {
		add(o.Key(), o.Object.GroupVersionKind().Version)
	}
	for _, e := range in.Inventory {
		add(e.Key, e.Version)
	}
	return all
}
