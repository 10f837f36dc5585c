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

// State is the state of a cluster with which a specification is compared.
type State struct {
	// Input is the input of the pipeline without the desired specification.
	Input pipeline.Input
	// Lookup reads the live objects for references.
	Lookup func(context.Context, []apply.Ref) (plan.Lookup, error)
	// UsedUp is the last acknowledgement that was used up.
	UsedUp string
	// Inventory and Serves are those of plan.Input.
	Inventory plan.Inventory
	Serves    func(schema.GroupKind) bool
	// DryRun returns an object as the API server would store it after an action. It is nil without an API server: then the
	// rendered object is reported.
	DryRun DryRun
	// Admit submits the object with an acknowledgement in a dry run. It is nil without an API server.
	Admit func(ctx context.Context, object map[string]any, acknowledgement string) error
	// Notes are sentences about the state, for Result.Notes.
	Notes []string
}

// DryRun returns an object as it would be after an action.
type DryRun func(context.Context, plan.Action) (*unstructured.Unstructured, error)

// Run previews the effect of a configuration. It returns an error if there can be no preview: the cluster is unreachable, or
// the binary has a bug.
func Run(ctx context.Context, p pipeline.Pipeline, in offline.Input, s State) (Result, error) {
	a := Result{Errors: []offline.Problem{}, Changes: []pipeline.Change{}, Objects: []Object{}, Notes: s.Notes, file: in.File}
	spec, problems := in.Spec()
	if len(problems) > 0 {
		var err error
		a.Decision = Invalid
		a.Errors, err = in.Check(ctx, p, nil, s.Input)
		return a, err
	}
	s.Input.Desired = spec
	res, err := p.Run(ctx, s.Input, pipeline.Check)
	if err != nil {
		problems, ok := in.Problems(err)
		if !ok {
			return a, explain(err)
		}
		a.Errors = problems
	}
	a.Decision, a.Detected = decision(err, s.Input.Applied, res), res.Detected
	if a.Decision != Invalid {
		if problems := in.Complete(nil); len(problems) > 0 {
			a.Decision, a.Errors = Invalid, problems
		}
	} else {
		a.Errors = in.Complete(a.Errors)
	}
	if a.Decision == Invalid {
		return a, nil
	}
	a.Filled, a.Acknowledgement, a.Acknowledged = res.Spec, res.Acknowledgement, res.Acknowledged
	if res.Changes != nil {
		a.Changes = res.Changes
	}
	if a.Acknowledgement != "" && s.Input.Revision == 0 {
		a.Notes = append(a.Notes, "the hash to acknowledge is computed without a revision; run the plan against the cluster for the hash that is valid there")
	}
	for _, r := range slices.Concat(res.Ineffective, res.Warnings) {
		a.Notes = append(a.Notes, r.String())
	}
	for _, r := range res.Advice {
		a.Notes = append(a.Notes, r.String())
	}
	if a.Decision == Refused {
		a.Notes = append(a.Notes, "the applied configuration stays active, and the operator keeps managing it")
		a.Notes = append(a.Notes, conflicts(ctx, p, s.Input)...)
		return a, nil
	}
	s.Input.Acknowledged = res.Acknowledgement
	if err := a.admit(ctx, in, s); err != nil {
		return a, err
	}
	err = a.objects(ctx, p, s)
	if len(a.Blocked) > 0 && a.Applies() {
		a.Decision = Blocked
	}
	return a, err
}

// admit submits the configuration itself in a dry run: a policy or a webhook of a third party may refuse it.
func (a *Result) admit(ctx context.Context, in offline.Input, s State) error {
	if s.Admit == nil || in.Object == nil {
		return nil
	}
	err := s.Admit(ctx, in.Object, a.Acknowledgement)
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

// lacksPermission reports whether an error means that the user, not the operator, lacks a permission.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "is forbidden: User ")
}

// explain adds a remedy to an error that prevents a preview.
func explain(err error) error {
	if errors.Is(err, pipeline.ErrHostMTUUnknown) {
		return fmt.Errorf("%w: give --host-mtu", err)
	}
	return err
}

func decision(err error, applied *operatorv1.NetworkSpec, res pipeline.Result) Decision {
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

// objects adds the changes of objects.
func (a *Result) objects(ctx context.Context, p pipeline.Pipeline, s State) error {
	if a.Filled.ManagementState == osv1.Unmanaged {
		a.Notes = append(a.Notes, "spec.managementState is Unmanaged: no object is touched")
		return nil
	}
	res, err := p.Run(ctx, s.Input, pipeline.Render)
	if err != nil && len(res.Outputs) == 0 {
		return err
	}
	in := plan.Input{Inventory: s.Inventory, Serves: s.Serves, Eventual: true}
	for _, o := range res.Outputs {
		a.addOutput(o, &in)
	}
	if in.Desired, err = network.Desired(p.Registry, res, s.Input.Cluster, a.usedUp(s)); err != nil {
		return err
	}
	if in.Live, err = s.Lookup(ctx, refs(in)); err != nil {
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
		if err := a.add(ctx, action, in.Live, s.DryRun); err != nil {
			return err
		}
	}
	return nil
}

// paced reports whether an object differs from the rendered one only in its updateStrategy, and the operator itself has written
// that: it does so during a rollout.
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

// usedUp returns the acknowledgement that is used up after the change.
func (a *Result) usedUp(s State) string {
	if a.Acknowledgement != "" {
		return a.Acknowledgement
	}
	return s.UsedUp
}

// addOutput notes the errors and messages of a rendered component. Nothing is deleted while a component is incomplete.
func (a *Result) addOutput(o pipeline.ComponentOutput, in *plan.Input) {
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
	if existing, found := live(action.Key); found {
		before = existing
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

// refs returns references to all desired objects and those in the inventory.
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
