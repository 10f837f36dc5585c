package openshiftsdn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
)

var (
	_ provider.Examiner     = OpenShiftSDN{}
	_ provider.VNIDReporter = OpenShiftSDN{}
)

const (
	// compareConcurrency is the number of nodes compared at the same time.
	compareConcurrency = 32
	// maxNodes is the maximum number of nodes named in a symptom.
	maxNodes = 5
)

// Examine runs the agent's compare command on every Ready node. The agent compares flows, meters, groups, addresses, VNIDs and egress IPs with its desired
// state. Examine also compares the VNIDs that agents use with the current NetNamespaces, and checks HostSubnets and NetNamespaces for egress IPs that cannot
// be used.
func (OpenShiftSDN) Examine(ctx context.Context, at provider.TraceAccess) provider.Examination {
	e := &examination{access: at, nodes: map[provider.Symptom][]string{}}
	var group errgroup.Group
	group.SetLimit(compareConcurrency)
	group.Go(func() error {
		e.note("egress IPs", e.egressIPs(ctx))
		return nil
	})
	var nodes corev1.NodeList
	if err := at.Objects.List(ctx, &nodes); err != nil {
		e.note("nodes of OpenShiftSDN", err)
	}
	for _, n := range nodes.Items {
		if status.NodeReady(&n) {
			group.Go(func() error {
				e.note("node "+n.Name, e.compareNode(ctx, n.Name))
				return nil
			})
		}
	}
	_ = group.Wait() // each part notes its own error
	return e.result()
}

// examination collects the findings.
type examination struct {
	access provider.TraceAccess

	mu sync.Mutex
	// nodes has the nodes of each symptom; the list is empty for a symptom that does not belong to a node.
	nodes   map[provider.Symptom][]string
	missing []string
}

func (e *examination) add(node string, s provider.Symptom) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nodes[s] = append(e.nodes[s], "node "+node); node == "" {
		e.nodes[s] = nil
	}
}

func (e *examination) note(what string, err error) {
	if err == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.missing = append(e.missing, fmt.Sprintf("%s: %v", what, err))
}

// result returns each symptom once, with the names of its nodes.
func (e *examination) result() provider.Examination {
	out := provider.Examination{Missing: e.missing}
	for s, nodes := range e.nodes {
		if slices.Sort(nodes); len(nodes) > 0 {
			s.What = phrase.Names(nodes, maxNodes) + ": " + s.What
		}
		out.Symptoms = append(out.Symptoms, s)
	}
	slices.SortFunc(out.Symptoms, func(a, b provider.Symptom) int { return strings.Compare(a.What+a.Cause, b.What+b.Cause) })
	slices.Sort(out.Missing)
	return out
}

// VNIDs runs the agent's compare command on a node.
func (OpenShiftSDN) VNIDs(ctx context.Context, at provider.TraceAccess, node string) (map[string]uint32, error) {
	c, err := comparison(ctx, at, node)
	return c.VNIDs, err
}

// comparison runs the compare command on a node.
func comparison(ctx context.Context, at provider.TraceAccess, node string) (agentconfig.Comparison, error) {
	f := tracer{access: at}
	out, err := f.run(ctx, node, "openshift-sdn-node", agentconfig.CompareCommand)
	if err != nil {
		return agentconfig.Comparison{}, err
	}
	return agentconfig.DecodeComparison([]byte(out))
}

// compareNode runs the compare command on a node. If a VNID differs, it compares once more: the VNID may just have changed.
func (e *examination) compareNode(ctx context.Context, node string) error {
	for attempt := range 2 {
		c, err := comparison(ctx, e.access, node)
		if err != nil {
			return err
		}
		namespaces, err := netNamespacesOf(ctx, e.access.Objects, len(c.VNIDs) > 0)
		if err != nil {
			return err
		}
		stale := staleVNIDs(c.VNIDs, namespaces)
		if len(stale) > 0 && attempt == 0 {
			continue
		}
		for _, note := range c.Notes {
			e.note("node "+node, errors.New(note))
		}
		for _, d := range c.Differences {
			e.add(node, provider.Symptom{Severe: d.Critical, What: d.What, Cause: d.Cause, WayOut: d.WayOut})
		}
		for _, s := range stale {
			e.add(node, s)
		}
		break
	}
	return nil
}

// staleVNIDs compares the VNIDs in the flows of a node with the NetNamespaces.
func staleVNIDs(used map[string]uint32, namespaces []*sdnv1.NetNamespace) []provider.Symptom {
	var all []provider.Symptom
	for _, n := range namespaces {
		if id, ok := used[n.Name]; ok && id != n.NetID {
			all = append(all, provider.Symptom{
				Severe: true, What: fmt.Sprintf("flows of namespace %s are for VNID %d, and its NetNamespace has netid %d", n.Name, id, n.NetID),
				Cause:  "the agent does not know of the change, or another NetNamespace has that netid, too",
				WayOut: "kubectl get netnamespaces shows whether two have one netid; otherwise restart the sdn pod of the node",
			})
		}
	}
	return all
}

// egressIPs reports the requested egress IPs that cannot be used on any node.
func (e *examination) egressIPs(ctx context.Context) error {
	var file corev1.ConfigMap
	if err := e.access.Objects.Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, &file); err != nil {
		return fmt.Errorf("read the configuration of the agents: %w", err)
	}
	config, err := agentconfig.Decode([]byte(file.Data[agentconfig.FileName]))
	if err != nil || config.Mode == agentconfig.Subnet {
		return err
	}
	subnets, err := hostSubnets(ctx, e.access.Objects)
	if err != nil {
		return err
	}
	namespaces, err := netNamespacesOf(ctx, e.access.Objects, true)
	if err != nil {
		return err
	}
	for _, s := range unusable(config, subnets, namespaces) {
		e.add("", s)
	}
	return nil
}

// unusable returns a symptom for each egress IP that cannot be used, with the text of its event.
func unusable(config agentconfig.Config, subnets []sdnv1.HostSubnet, namespaces []*sdnv1.NetNamespace) []provider.Symptom {
	of := make([]*sdnv1.HostSubnet, len(subnets))
	for i := range subnets {
		of[i] = &subnets[i]
	}
	inside := config.Reserved()
	cluster, invalid := egressip.Read(of, namespaces, inside, config.Mode == agentconfig.Multitenant, func(string) egressip.State { return egressip.Unknown })
	_, conflicts := egressip.Resolve(cluster)
	var all []provider.Symptom
	for _, p := range slices.Concat(invalid, conflicts) {
		name := ""
		switch o := p.Object.(type) {
		case *sdnv1.HostSubnet:
			name = "HostSubnet " + o.Name
		case *sdnv1.NetNamespace:
			name = "NetNamespace " + o.Name
		}
		cause, wayOut := cutRemedy(p.Message)
		all = append(all, provider.Symptom{Severe: true, What: fmt.Sprintf("%s: egress IPs cannot be used (%s)", name, p.Reason), Cause: cause, WayOut: wayOut})
	}
	return all
}

// cutRemedy splits the message of a problem into cause and remedy. The remedy follows the last semicolon or, without one, the last colon.
func cutRemedy(message string) (cause, wayOut string) {
	for _, mark := range []string{"; ", ": "} {
		if i := strings.LastIndex(message, mark); i >= 0 {
			return message[:i], message[i+len(mark):]
		}
	}
	return message, "change the object"
}

// netNamespacesOf lists all NetNamespaces if wanted is true. Mode Subnet has none.
func netNamespacesOf(ctx context.Context, r client.Reader, wanted bool) ([]*sdnv1.NetNamespace, error) {
	if !wanted {
		return nil, nil
	}
	found, err := listOf[sdnv1.NetNamespace](ctx, r, "NetNamespace")
	out := make([]*sdnv1.NetNamespace, len(found))
	for i := range found {
		out[i] = &found[i]
	}
	return out, err
}

// listOf lists the objects of a kind of the group network.openshift.io.
func listOf[T any](ctx context.Context, r client.Reader, kind string) ([]T, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(sdnv1.GroupVersion.WithKind(kind + "List"))
	if err := r.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list %ss: %w", kind, err)
	}
	out := make([]T, len(list.Items))
	for i := range list.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &out[i]); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", kind, list.Items[i].GetName(), err)
		}
	}
	return out, nil
}
