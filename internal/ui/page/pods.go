package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// ErrQuestion is wrapped by the error of a question that cannot be answered as it was put.
var ErrQuestion = errors.New("the question is not complete")

// pageOfPods is how many pods are asked for in one request.
const pageOfPods = 500

// PodNames are the pods to choose from.
type PodNames struct {
	Pods  []Pod    `json:"pods"`
	Notes []string `json:"notes,omitempty"`
}

// PodNames returns all pods whose namespace or name contains a text, at most a number of them.
func (s Source) PodNames(ctx context.Context, text string, most int) (PodNames, error) {
	page := PodNames{Pods: []Pod{}}
	pods, err := s.everyPod(ctx)
	if err != nil {
		return page, err
	}
	if s.All == nil {
		page.Notes = append(page.Notes, "an archive has only the pods of the network")
	}
	for i := range pods {
		if strings.Contains(pods[i].Namespace+"/"+pods[i].Name, text) {
			page.Pods = append(page.Pods, podOf(&pods[i]))
		}
	}
	slices.SortFunc(page.Pods, func(a, b Pod) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) })
	if more := len(page.Pods) - most; more > 0 {
		page.Pods = page.Pods[:most]
		page.Notes = append(page.Notes, fmt.Sprintf("and %d more; type a part of the name", more))
	}
	return page, nil
}

// Question asks for the way between two pods.
type Question struct {
	// From and To are namespace/name.
	From, To string
	// Protocol is TCP, UDP or SCTP; empty is TCP. Port is that of the destination.
	Protocol string
	Port     uint16
}

// Way is the way of a packet between two pods, and what stops it.
type Way struct {
	From     Pod    `json:"from"`
	To       Pod    `json:"to"`
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	// Passes is false if a step stops the packet. It says nothing about what cannot be seen from the objects of the cluster.
	Passes bool   `json:"passes"`
	Steps  []Step `json:"steps"`
	// Notes are sentences about what was not looked at.
	Notes []string `json:"notes,omitempty"`
}

// Step is one place on the way.
type Step struct {
	Where string `json:"where"`
	// OK is false if the step stops the packet.
	OK   bool   `json:"ok"`
	What string `json:"what"`
}

// Way answers a question.
func (s Source) Way(ctx context.Context, q Question) (Way, error) {
	if q.From == "" || q.To == "" || q.Port == 0 {
		return Way{}, fmt.Errorf("%w: give the parameters from and to as namespace/name, and port as 1 to 65535", ErrQuestion)
	}
	w := Way{Protocol: cmp.Or(q.Protocol, string(corev1.ProtocolTCP)), Port: q.Port, Passes: true, Steps: []Step{}}
	if !slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, corev1.Protocol(w.Protocol)) {
		return w, fmt.Errorf("%w: protocol %q is not TCP, UDP or SCTP", ErrQuestion, w.Protocol)
	}
	pods, err := s.everyPod(ctx)
	if err != nil {
		return w, err
	}
	from, err := podNamed(pods, q.From)
	if err != nil {
		return w, err
	}
	to, err := podNamed(pods, q.To)
	if err != nil {
		return w, err
	}
	w.From, w.To = podOf(from), podOf(to)
	verdict, err := s.policies(ctx, pods, from, to, w)
	if err != nil {
		w.Notes = append(w.Notes, fmt.Sprintf("network policies were not looked at: %v", err))
	}
	w.add("pod "+q.From, w.From.Phase == string(corev1.PodRunning), phase(w.From))
	if err == nil && !w.From.HostNetwork {
		w.decision("leaving "+q.From, verdict.Egress, "egress")
	}
	if err := s.between(ctx, &w); err != nil {
		return w, err
	}
	if err == nil && !w.To.HostNetwork {
		w.decision("entering "+q.To, verdict.Ingress, "ingress")
	}
	w.add("pod "+q.To, w.To.Phase == string(corev1.PodRunning), phase(w.To))
	w.Notes = append(w.Notes, "this is what objects of the cluster say; the Paths page tries the way with packets")
	return w, nil
}

func (w *Way) add(where string, ok bool, what string) {
	w.Steps = append(w.Steps, Step{where, ok, what})
	w.Passes = w.Passes && ok
}

func phase(p Pod) string {
	text := "is " + p.Phase
	if len(p.Addresses) > 0 {
		text += " with " + strings.Join(p.Addresses, ", ")
	}
	if p.HostNetwork {
		text += ", on the network of its node: policies do not apply to it"
	}
	return text
}

// decision adds what network policies say in one direction.
func (w *Way) decision(where string, d netpolicy.Decision, direction string) {
	switch {
	case len(d.Policies) == 0:
		w.add(where, true, "no network policy selects the pod for "+direction)
	case d.By != netpolicy.ID{}:
		w.add(where, true, fmt.Sprintf("network policy %s allows it with %s rule %d", d.By, direction, d.Rule))
	default:
		var names []string
		for _, p := range d.Policies {
			names = append(names, p.String())
		}
		w.add(where, false, fmt.Sprintf("no %s rule of network policy %s allows it", direction, strings.Join(names, ", ")))
	}
}

// between adds the nodes, and the way between them.
func (s Source) between(ctx context.Context, w *Way) error {
	seen, err := s.observeNodes(ctx)
	if err != nil {
		return err
	}
	names := slices.Compact([]string{w.From.Node, w.To.Node})
	for i, name := range names {
		at := slices.IndexFunc(seen.nodes, func(n corev1.Node) bool { return n.Name == name })
		if at < 0 {
			w.add("node "+name, false, "does not exist")
			continue
		}
		state, why := seen.state(&seen.nodes[at])
		what := "is " + state
		if why != "" {
			what += ": " + why
		}
		w.add("node "+name, state != NodeDown, what)
		if i == 0 && len(names) == 2 {
			if err := s.nodeChecks(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeChecks adds what connectivity checks say about the way from one node to the other.
func (s Source) nodeChecks(ctx context.Context, w *Way) error {
	checks, err := s.checks(ctx)
	if err != nil {
		return err
	}
	where, found := w.From.Node+" to "+w.To.Node, false
	for _, c := range checks {
		if c.Source != w.From.Node || c.Target != w.To.Node || c.State == CheckUnknown {
			continue
		}
		found = true
		if c.State == CheckFailed {
			w.add(where, false, fmt.Sprintf("the connectivity check fails since %s: %s", c.Since.Format("2006-01-02 15:04:05 MST"), c.Message))
		} else {
			w.add(where, true, fmt.Sprintf("the connectivity check reaches %s in %.1f ms", c.Endpoint, c.Milliseconds))
		}
	}
	if !found {
		w.Notes = append(w.Notes, "no connectivity check runs from "+where)
	}
	return nil
}

// everyPod returns all pods: those of the network where no others can be read.
func (s Source) everyPod(ctx context.Context) ([]corev1.Pod, error) {
	if s.All == nil {
		var list corev1.PodList
		err := s.list(ctx, &list)
		return list.Items, err
	}
	var all []corev1.Pod
	for next := ""; ; {
		var list corev1.PodList
		if err := s.All.List(ctx, &list, client.Limit(pageOfPods), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		all = append(all, list.Items...)
		if next = list.Continue; next == "" {
			return all, nil
		}
	}
}

func podNamed(pods []corev1.Pod, name string) (*corev1.Pod, error) {
	for i := range pods {
		if pods[i].Namespace+"/"+pods[i].Name == name {
			return &pods[i], nil
		}
	}
	return nil, fmt.Errorf("there is no pod %q: %w", name, ErrUnknown)
}

// policies decides about the connection by the network policies of the cluster, by the code of the networks.
func (s Source) policies(ctx context.Context, pods []corev1.Pod, from, to *corev1.Pod, w Way) (netpolicy.Verdict, error) {
	if s.All == nil {
		return netpolicy.Verdict{}, errors.New("an archive has none")
	}
	var policies networkingv1.NetworkPolicyList
	var namespaces corev1.NamespaceList
	if err := errors.Join(s.All.List(ctx, &policies), s.All.List(ctx, &namespaces)); err != nil {
		return netpolicy.Verdict{}, err
	}
	var in netpolicy.Input
	for i := range policies.Items {
		in.Policies = append(in.Policies, &policies.Items[i])
	}
	for _, n := range namespaces.Items {
		in.Namespaces = append(in.Namespaces, netpolicy.Namespace{Name: n.Name, Labels: n.Labels})
	}
	for i := range pods {
		in.Pods = append(in.Pods, policyPod(&pods[i]))
	}
	return netpolicy.Translate(in).Allowed(netpolicy.Connection{From: end(from), To: end(to), Protocol: corev1.Protocol(w.Protocol), Port: w.Port}), nil
}

func idOf(p *corev1.Pod) netpolicy.ID { return netpolicy.ID{Namespace: p.Namespace, Name: p.Name} }

func end(p *corev1.Pod) netpolicy.End {
	e := netpolicy.End{}
	if !p.Spec.HostNetwork {
		e.Pod = idOf(p)
	}
	if a, err := netip.ParseAddr(p.Status.PodIP); err == nil {
		e.Address = a
	}
	return e
}

// policyPod is what policies can see of a pod.
func policyPod(p *corev1.Pod) netpolicy.Pod {
	pod := netpolicy.Pod{ID: idOf(p), Labels: p.Labels, HostNetwork: p.Spec.HostNetwork, Ended: p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed}
	for _, ip := range p.Status.PodIPs {
		if a, err := netip.ParseAddr(ip.IP); err == nil {
			pod.Addresses = append(pod.Addresses, a)
		}
	}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			if port.Name != "" {
				pod.Ports = append(pod.Ports, netpolicy.NamedPort{Name: port.Name, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), Port: uint16(port.ContainerPort)}) //nolint:gosec // the API allows 1 to 65535
			}
		}
	}
	return pod
}
