package node

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/definition"
	"github.com/cluster-network-operator/cno/internal/multinet/selection"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// plan returns the additional networks of a pod. It reports all errors in its annotations and in the definitions at once, also as an event on the pod.
func (d *daemon) plan(ctx context.Context, r wire.PlanRequest) (wire.Plan, error) {
	annotations := r.Annotations
	if annotations == nil {
		pod, err := d.objects.pod(ctx, r.Pod)
		if err != nil {
			return wire.Plan{}, cniproto.Errorf(cniproto.CodeTryAgain, "%v", err)
		}
		annotations = pod.Annotations
	}
	p := planner{daemon: d, request: r}
	plan, err := p.plan(ctx, annotations)
	if err == nil {
		return plan, nil
	}
	if cniproto.AsError(err).Code != cniproto.CodeTryAgain {
		d.events.warn(r.Pod, p.reason, err.Error())
	}
	return wire.Plan{}, err
}

// planner computes one plan.
type planner struct {
	*daemon
	request wire.PlanRequest
	// reason is the reason of the event on the pod.
	reason string
	// interfaces are those of the node; nil until they are read.
	interfaces *Interfaces
}

func (p *planner) plan(ctx context.Context, annotations map[string]string) (wire.Plan, error) {
	p.reason = reasonInvalid
	selections, errs := selection.Parse(annotations[wire.AnnotationNetworks], p.request.Pod.Namespace)
	fallback, defaultErrs := selection.ParseDefault(annotations[wire.AnnotationDefault], p.Config.Namespace)
	errs = append(errs, defaultErrs...)
	at := field.NewPath("metadata", "annotations").Key(wire.AnnotationNetworks)
	for i, s := range selections {
		errs = append(errs, p.Config.Isolation().Check(at.Index(i).Child("namespace"), p.request.Pod.Namespace, s.Namespace+"/"+s.Name)...)
	}
	if len(errs) > 0 {
		return wire.Plan{}, invalid(errs)
	}
	plan := wire.Plan{Policies: p.Config.Policies}
	var problems []error
	requested := slices.Clone(selections)
	if fallback != nil {
		requested = append(requested, *fallback)
	}
	definitions := p.objects.definitions(ctx, requested)
	if fallback != nil {
		a, err := p.attachment(definitions, *fallback, "")
		problems = appendError(problems, err)
		plan.Default = &a
	}
	for _, s := range selections {
		a, err := p.attachment(definitions, s, p.request.Default)
		problems = appendError(problems, err)
		plan.Attachments = append(plan.Attachments, a)
	}
	if len(problems) > 0 {
		return wire.Plan{}, joinErrors(problems)
	}
	if err := p.assignDevices(ctx, &plan); err != nil {
		return wire.Plan{}, err
	}
	return plan, nil
}

// attachment returns the attachment of one selected network.
func (p *planner) attachment(definitions map[string]definitionResult, s selection.Selection, defaultNetwork string) (wire.Attachment, error) {
	found := definitions[s.Namespace+"/"+s.Name]
	object, err := found.definitionData, found.err
	if err != nil {
		if cniproto.AsError(err).Code != cniproto.CodeTryAgain {
			p.reason = reasonNotFound
		}
		return wire.Attachment{}, err
	}
	config := object.config
	if strings.TrimSpace(config) == "" {
		if config, err = fromFile(p.Config.ConfDir, s.Name); err != nil {
			return wire.Attachment{}, err
		}
	}
	rules, err := p.rules(s.Namespace, defaultNetwork)
	if err != nil {
		return wire.Attachment{}, err
	}
	parsed, errs := definition.Parse(s.Namespace, s.Name, config, rules)
	if len(errs) > 0 {
		return wire.Attachment{}, cniproto.Errorf(cniproto.CodeInvalidConfig, "NetworkAttachmentDefinition %s/%s: %v", s.Namespace, s.Name, errs.ToAggregate())
	}
	a, errs := parsed.Attach(s)
	if len(errs) > 0 {
		return a, cniproto.Errorf(cniproto.CodeInvalidConfig, "network %s: %v", a.Network, errs.ToAggregate())
	}
	a.Resource = object.resource
	return a, nil
}

// rules returns the restrictions of definitions in a namespace on this node.
func (p *planner) rules(namespace, defaultNetwork string) (definition.Rules, error) {
	if p.interfaces == nil {
		interfaces, err := p.Interfaces()
		if err != nil {
			return definition.Rules{}, cniproto.Errorf(cniproto.CodeTryAgain, "find the interfaces of the node: %v", err)
		}
		p.interfaces = &interfaces
	}
	interfaces := p.interfaces
	rules := definition.Rules{
		DefaultNetwork: defaultNetwork, ReservedBridges: p.Config.ReservedBridges, ReservedPlugins: p.Config.ReservedPlugins, Uplinks: interfaces.Uplinks, Node: p.Node, Interfaces: interfaces.All,
		OtherNames: interfaces.OtherNames,
	}
	if p.Config.Attachments == agentconfig.Restricted && !slices.Contains(p.Config.GlobalNamespaces, namespace) {
		if !p.objects.synced() {
			return rules, cniproto.Errorf(cniproto.CodeTryAgain, "the definitions of other namespaces, with which those of namespace %s are compared, have not been read yet", namespace)
		}
		rules.Restricted = &definition.Restricted{
			Namespace: namespace, PrefixOf: p.objects.prefixOwner(namespace), Masters: p.Config.Masters, Networks: slices.Concat(p.Config.ReservedNetworks, interfaces.reserved(p.Config.Masters)),
		}
	}
	return rules, nil
}

// invalid returns the error of invalid annotations.
func invalid(errs field.ErrorList) error {
	return cniproto.Errorf(cniproto.CodeInvalidConfig, "the pod requests networks in an invalid way: %v", errs.ToAggregate())
}

func appendError(all []error, err error) []error {
	if err == nil || slices.ContainsFunc(all, func(e error) bool { return e.Error() == err.Error() }) {
		return all
	}
	return append(all, err)
}

// joinErrors joins errors. The result is retryable only if all errors are.
func joinErrors(errs []error) error {
	code, texts := cniproto.CodeTryAgain, []string{}
	for _, err := range errs {
		e := cniproto.AsError(err)
		if code == cniproto.CodeTryAgain {
			code = e.Code
		}
		texts = append(texts, e.Error())
	}
	return cniproto.Errorf(code, "%s", strings.Join(texts, "; "))
}
