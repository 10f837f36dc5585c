package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/policy"
	"github.com/cluster-network-operator/cno/internal/multinet/policy/kernel"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

const (
	// rulesInterval is how often the kernel's rules are compared with those of the policies.
	rulesInterval = 5 * time.Second
	// programConcurrency is the number of sandboxes programmed at the same time.
	programConcurrency = 8
)

const (
	topicPolicies agent.Topic = "policies"
	topicCustom   agent.Topic = "custom rules"
	topicMemory   agent.Topic = "valid forms of policies"
)

// Reasons of events about policies.
const (
	reasonRestored      = "PolicyRulesRestored"
	reasonInvalidPolicy = "InvalidMultiNetworkPolicy"
	actionEnforce       = "EnforcePolicies"
)

// enforcer maintains the rules of MultiNetworkPolicies in the network namespaces of the node's pods.
type enforcer struct {
	agent.Process
	config  agentconfig.Config
	objects *policyObjects
	kernel  *kernel.Kernel
	memory  *policyMemory
	events  *events
	board   *agent.Board[status]
	beat    agent.Beat
	metrics *policyMetrics
	changed agent.Trigger

	mu sync.Mutex
	// sandboxes are the known sandboxes, by container ID.
	sandboxes map[string]*enforced
	// announced are the reported problems of policies.
	announced map[types.UID]string
}

// enforced is a sandbox with the state of its rules.
type enforced struct {
	mu sync.Mutex
	// pod is the pod at the time of attachment: the watch may not have it yet.
	pod *policy.Pod
	// written is true once rules have been written. text has the rules, state is the kernel's state after the write.
	written bool
	text    string
	state   kernel.State
}

// RunPolicies runs the daemon that enforces MultiNetworkPolicies. It is a separate process, since it enters network namespaces and needs capabilities.
func RunPolicies(ctx context.Context, p agent.Process, config agentconfig.Config, client kubernetes.Interface, policies dynamic.Interface) error {
	e, err := newEnforcer(p, config, client, policies)
	if err != nil {
		return err
	}
	if e.events, err = newEvents(ctx, client); err != nil {
		return err
	}
	listener, err := cniserver.Listen(config.PolicySocket)
	if err != nil {
		return err
	}
	health := agent.Health{
		Ready:   func() (bool, agent.Problems) { v := e.board.View(); return v.Status.ready, v.Problems },
		Metrics: e.metrics, Beat: &e.beat, Now: time.Now,
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return health.Serve(ctx, config.PolicyHealthAddress) })
	group.Go(func() error { keepSmall(ctx, p.Log); return nil })
	group.Go(func() error { e.objects.run(ctx); return nil })
	group.Go(func() error { return server{e.do, e.metrics.metrics, p.Log}.serve(ctx, listener) })
	group.Go(func() error {
		agent.Loop{Apply: e.apply, Interval: rulesInterval, Debounce: debounce, Changed: e.changed, Now: time.Now, Beat: &e.beat}.Run(ctx)
		return nil
	})
	return group.Wait()
}

// newEnforcer returns an enforcer without events. Its objects have not been read yet.
func newEnforcer(p agent.Process, config agentconfig.Config, client kubernetes.Interface, policies dynamic.Interface) (*enforcer, error) {
	k, err := kernel.New()
	if err != nil {
		return nil, err
	}
	e := &enforcer{
		Process: p, config: config, kernel: k, board: agent.NewBoard(status{}, p.Log), changed: agent.NewTrigger(),
		sandboxes: map[string]*enforced{}, announced: map[types.UID]string{},
	}
	e.memory = newPolicyMemory(config.PolicyDir)
	valid, err := e.memory.load()
	if err != nil {
		p.Log.Warn("policies that are invalid isolate until they are corrected", "error", err)
	}
	e.objects = newPolicyObjects(client, policies, e.changed.Fire, customReader(config.PolicyRules, k, func(err error) { e.board.Note(topicCustom, err) }), valid)
	e.metrics = newPolicyMetrics(p.Version, e)
	return e, nil
}

// do handles a request of the shim, which attaches a sandbox.
func (e *enforcer) do(ctx context.Context, r cniproto.Request) (json.RawMessage, error) {
	if r.Command != wire.CommandPolicies && r.Command != wire.CommandCheckPolicies {
		return nil, unknownRequest(r)
	}
	var request wire.PoliciesRequest
	if err := json.Unmarshal(r.Config, &request); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeDecode, "%v", err)
	}
	if r.Command == wire.CommandCheckPolicies {
		return nil, e.check(ctx, request)
	}
	return nil, e.protect(ctx, request)
}

// check compares the rules of a sandbox with the policies and the kernel. Rules that a third party has changed are restored, and reported as an error.
func (e *enforcer) check(ctx context.Context, r wire.PoliciesRequest) error {
	s, err := attach.ReadSandbox(e.config.StateDir, r.Sandbox)
	if err == nil {
		if !e.objects.synced() {
			return cniproto.Errorf(cniproto.CodeTryAgain, "the policies of networks are not read yet")
		}
		var restored bool
		if restored, err = e.compare(ctx, s); restored {
			return cniproto.Errorf(cniproto.CodeInternal, "a third party has changed the rules of MultiNetworkPolicies in the network namespace; they have been restored")
		}
	}
	if err != nil {
		return cniproto.Errorf(cniproto.CodeInternal, "compare the rules of MultiNetworkPolicies: %v", err)
	}
	return nil
}

// protect writes the rules of a sandbox before its first further interface is attached, based on the current policies of the API server.
func (e *enforcer) protect(ctx context.Context, r wire.PoliciesRequest) error {
	s, err := attach.ReadSandbox(e.config.StateDir, r.Sandbox)
	if err != nil {
		return cniproto.Errorf(cniproto.CodeTryAgain, "%v", err)
	}
	pod, err := e.objects.pod(ctx, r.Pod)
	if err != nil {
		return cniproto.Errorf(cniproto.CodeTryAgain, "%v", err)
	}
	if err := e.objects.upToDate(ctx, r.Pod.Namespace); err != nil {
		return cniproto.Errorf(cniproto.CodeTryAgain, "%v", err)
	}
	one := e.sandbox(s.ID)
	one.mu.Lock()
	one.pod = &pod
	one.mu.Unlock()
	if err := e.program(ctx, s); err != nil {
		var name *policy.NameError
		if errors.As(err, &name) {
			return cniproto.Errorf(cniproto.CodeInvalidConfig, "%v", err)
		}
		return cniproto.Errorf(cniproto.CodeTryAgain, "write the rules of MultiNetworkPolicies: %v", err)
	}
	return nil
}

// sandbox returns the state of a sandbox.
func (e *enforcer) sandbox(id string) *enforced {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sandboxes[id] == nil {
		e.sandboxes[id] = &enforced{}
	}
	return e.sandboxes[id]
}

// apply compares the rules of all sandboxes with the policies, and with the kernel.
func (e *enforcer) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	api := e.objects.problem()
	e.board.Note(topicAPI, api)
	if !e.objects.synced() {
		return errors.Join(api, errors.New("the objects of the Kubernetes API are not read yet"))
	}
	e.board.Note(topicMemory, e.memory.save(e.objects.valid()))
	all, err := attach.ReadSandboxes(e.config.StateDir)
	if err == nil {
		e.prune(all)
		err = e.programAll(ctx, all)
	}
	e.board.Note(topicPolicies, err)
	e.announce(all)
	e.board.Update(func(s *status) bool {
		before := *s
		s.ready = true
		return *s != before
	})
	return errors.Join(api, err)
}

func (e *enforcer) programAll(ctx context.Context, all []attach.Sandbox) error {
	var group errgroup.Group
	group.SetLimit(programConcurrency)
	errs := make([]error, len(all))
	for i, s := range all {
		group.Go(func() error {
			if err := e.program(ctx, s); err != nil {
				errs[i] = fmt.Errorf("write the rules of pod %s/%s: %w", s.Pod.Namespace, s.Pod.Name, err)
			}
			return nil
		})
	}
	return errors.Join(group.Wait(), errors.Join(errs...))
}

// program reconciles the rules of a sandbox. A deleted sandbox needs none.
func (e *enforcer) program(ctx context.Context, s attach.Sandbox) error {
	_, err := e.compare(ctx, s)
	return err
}

// compare is program, and reports whether a third party had changed the rules.
func (e *enforcer) compare(ctx context.Context, s attach.Sandbox) (foreign bool, err error) {
	if !s.Lives() {
		return false, nil
	}
	one, netns := e.sandbox(s.ID), netnsOf(s)
	one.mu.Lock()
	defer one.mu.Unlock()
	// The rules are computed while the sandbox is locked, so that rules of older objects never replace newer ones.
	rules, err := e.objects.rules(s, one.pod)
	if errors.Is(err, errNoPod) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text := rules.String()
	if one.written {
		foreign, one.state, err = e.kernel.Changed(netns, one.state)
		if err == nil && !foreign && text == one.text {
			return false, nil
		}
	}
	if err == nil {
		start := time.Now()
		one.state, err = e.kernel.Apply(ctx, netns, rules)
		e.metrics.programmed.Observe(time.Since(start).Seconds())
	}
	if errors.Is(err, kernel.ErrGone) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	one.written, one.text = err == nil, text
	if foreign {
		e.metrics.restored.Inc()
		e.events.send(s.Pod, corev1.EventTypeWarning, reasonRestored, actionEnforce,
			"A third party changed the rules of MultiNetworkPolicies in the network namespace of the pod; they have been restored")
	}
	return foreign, err
}

// prune removes the state of sandboxes without a record.
func (e *enforcer) prune(all []attach.Sandbox) {
	live := map[string]bool{}
	for _, s := range all {
		live[s.ID] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.sandboxes {
		if !live[id] {
			delete(e.sandboxes, id)
		}
	}
}

// announce reports each problem of a policy once, on nodes with pods in its namespace and on its networks.
func (e *enforcer) announce(all []attach.Sandbox) {
	problems := e.objects.policyProblems()
	current := map[types.UID]string{}
	for _, p := range problems {
		relevant := false
		for _, s := range all {
			for _, n := range s.Networks {
				relevant = relevant || s.Pod.Namespace == p.Policy.Namespace && p.For.On(n.Name)
			}
		}
		if !relevant {
			continue
		}
		current[p.UID] = p.Sentence
		if e.announced[p.UID] != p.Sentence {
			e.events.about(&corev1.ObjectReference{
				APIVersion: resourcePolicies.GroupVersion().String(), Kind: "MultiNetworkPolicy", Namespace: p.Policy.Namespace, Name: p.Policy.Name, UID: p.UID,
			}, corev1.EventTypeWarning, reasonInvalidPolicy, actionEnforce, p.Sentence)
		}
	}
	e.announced = current
}

// RemovePolicies removes the rules from all network namespaces of the node's pods, after policies have been disabled.
func RemovePolicies(config agentconfig.Config) error {
	all, err := attach.ReadSandboxes(config.StateDir)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		if !s.Lives() {
			continue
		}
		if err := kernel.Remove(netnsOf(s)); err != nil && !errors.Is(err, kernel.ErrGone) {
			errs = append(errs, fmt.Errorf("pod %s/%s: %w", s.Pod.Namespace, s.Pod.Name, err))
		}
	}
	return errors.Join(errs...)
}
