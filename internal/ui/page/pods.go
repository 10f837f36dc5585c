package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/nodestate"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/trace"
)

// ErrQuestion is wrapped by the error of an invalid question.
var ErrQuestion = errors.New("the question is not complete")

// PodNames are the pods to choose from.
type PodNames struct {
	Pods  []Pod    `json:"pods"`
	Notes []string `json:"notes,omitempty"`
}

// PodNames returns the pods whose namespace or name contains a text, at most most of them.
func (s Source) PodNames(ctx context.Context, text string, most int) (PodNames, error) {
	page := PodNames{Pods: []Pod{}}
	pods, err := s.everyPod(ctx)
	if err != nil {
		return page, err
	}
	if s.Pods == nil {
		page.Notes = append(page.Notes, "an archive has only the pods of the network")
	}
	for _, p := range pods {
		if strings.Contains(p.Namespace+"/"+p.Name, text) {
			page.Pods = append(page.Pods, p)
		}
	}
	if more := len(page.Pods) - most; more > 0 {
		page.Pods = page.Pods[:most]
		page.Notes = append(page.Notes, phrase.More(more)+"; type a part of the name")
	}
	return page, nil
}

// Question is a request for the path between two pods.
type Question struct {
	// From is namespace/name of a pod, To that of a pod or a Service.
	From, To string
	// Protocol is TCP, UDP or SCTP; empty means TCP. Port is that of the destination.
	Protocol string
	Port     uint16
}

// Way is the path of a packet between two pods.
type Way struct {
	From     Pod    `json:"from"`
	To       Pod    `json:"to"`
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	// Passes is false if a step drops the packet, according to the objects of the cluster.
	Passes bool   `json:"passes"`
	Steps  []Step `json:"steps"`
	// Notes are sentences about objects that were not evaluated.
	Notes []string `json:"notes,omitempty"`
}

// Step is one step of the path.
type Step struct {
	Where string `json:"where"`
	// OK is false if the step drops the packet.
	OK   bool   `json:"ok"`
	What string `json:"what"`
}

// Way traces a packet as cno trace does, but without commands in pods of the network and with the connectivity checks of the nodes.
func (s Source) Way(ctx context.Context, q Question) (Way, error) {
	if q.From == "" || q.To == "" || q.Port == 0 {
		return Way{}, fmt.Errorf("%w: give the parameters from and to as namespace/name, and port as 1 to 65535", ErrQuestion)
	}
	cluster, err := s.traced(ctx)
	if err != nil {
		return Way{}, err
	}
	answer, err := trace.Trace(ctx, cluster, trace.Question{From: q.From, To: q.To, Protocol: corev1.Protocol(q.Protocol), Port: q.Port})
	switch {
	case errors.Is(err, trace.ErrUnknown):
		return Way{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	case errors.Is(err, trace.ErrQuestion):
		return Way{}, fmt.Errorf("%w: %w", ErrQuestion, err)
	case err != nil:
		return Way{}, err
	}
	w := Way{Protocol: string(answer.Protocol), Port: answer.Port, Passes: true, Steps: []Step{}, Notes: answer.Notes, From: endOf(answer.From), To: endOf(answer.To)}
	placed := false
	for _, step := range answer.Request {
		if !placed && (strings.HasPrefix(step.Where, "entering ") || step.Where == answer.To.String() && answer.From.Name != answer.To.Name) {
			placed = true
			if err := s.between(ctx, &w); err != nil {
				return w, err
			}
		}
		w.add(step.Where, step.OK, step.What)
	}
	w.Notes = append(w.Notes, "computed from objects of the cluster; cno trace also reads the flows of the network, and the connectivity test of the page Paths sends packets")
	return w, nil
}

// traced returns the cluster for package trace.
func (s Source) traced(ctx context.Context) (trace.Cluster, error) {
	c := trace.Cluster{Objects: s.All}
	if s.All == nil {
		c.Objects, c.NoPolicies = s.Objects, "network policies were not evaluated: an archive has none"
	}
	spec, err := s.spec(ctx)
	if err != nil {
		return c, err
	}
	c.Spec = spec
	if s.Tracer != nil {
		c.Tracer = s.Tracer(spec.DefaultNetwork.Type)
	}
	return c, nil
}

// spec returns the applied specification with all defaults, or that of the Network; it is empty if there is no network.
func (s Source) spec(ctx context.Context) (*operatorv1.NetworkSpec, error) {
	spec, err := preview.Cluster{Client: s.Objects, Namespace: s.Namespace}.Spec(ctx)
	if errors.Is(err, preview.ErrNoNetwork) {
		return &operatorv1.NetworkSpec{}, nil
	}
	return spec, err
}

// endOf converts an end of a trace.
func endOf(e trace.End) Pod {
	namespace, name, isPod := strings.Cut(e.Name, "/")
	if !isPod {
		namespace, name = "", e.Name
	}
	p := Pod{Namespace: namespace, Name: name, Node: e.Node, HostNetwork: e.HostNetwork}
	if e.Address != "" {
		p.Addresses = []string{e.Address}
	}
	return p
}

func (w *Way) add(where string, ok bool, what string) {
	w.Steps = append(w.Steps, Step{where, ok, what})
	w.Passes = w.Passes && ok
}

// between adds the nodes and the path between them.
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
		known := seen.node(&seen.nodes[at])
		w.add("node "+name, known.State != nodestate.NotReady, nodeStep(known.State, known.Why))
		if i == 0 && len(names) == 2 {
			if err := s.nodeChecks(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeStep describes the state of a node on the path.
func nodeStep(state nodestate.State, why string) string {
	switch state {
	case nodestate.Ready:
		return "is ready"
	case nodestate.NotReady:
		return "is not ready: " + why
	case nodestate.Cordoned:
		return "is cordoned"
	default:
		return "is ready; " + why
	}
}

// nodeChecks adds the connectivity checks from one node to the other.
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

// everyPod returns all pods, or those of the network if no others can be read, ordered by namespace and name.
func (s Source) everyPod(ctx context.Context) ([]Pod, error) {
	if s.Pods != nil {
		return s.Pods(ctx)
	}
	var list corev1.PodList
	err := s.list(ctx, &list)
	return podsOf(list.Items), err
}

// ListPods returns all pods of a cluster, ordered by namespace and name.
func ListPods(ctx context.Context, r client.Reader) ([]Pod, error) {
	pods, err := trace.Pods(ctx, r)
	return podsOf(pods), err
}

func podsOf(pods []corev1.Pod) []Pod {
	all := make([]Pod, 0, len(pods))
	for i := range pods {
		all = append(all, podOf(&pods[i]))
	}
	sortPods(all)
	return all
}

func sortPods(pods []Pod) {
	slices.SortFunc(pods, func(a, b Pod) int { return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) })
}
