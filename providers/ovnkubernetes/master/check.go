package master

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	decided "github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Check compares the databases of the leading instance with the rows that a newly started master would compute from the Kubernetes API. It writes nothing.
func Check(ctx context.Context, c Config, p finding.Persistence) (finding.Report, error) {
	c, err := c.complete()
	if err != nil {
		return finding.Report{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := kubernetes.NewForConfig(c.Kube)
	if err != nil {
		return finding.Report{}, fmt.Errorf("create a client of the API server: %w", err)
	}
	if other, err := otherLeader(ctx, c, client); err != nil || other != "" {
		return finding.Report{Incomplete: []string{"the master of node " + other + " leads: only its databases are compared"}}, err
	}
	noted := &changes{keys: map[key]time.Time{}, wake: agent.NewTrigger()}
	o, err := newObjects(client, noted)
	if err != nil {
		return finding.Report{}, err
	}
	if err := o.start(ctx); err != nil {
		return finding.Report{}, err
	}
	// The keys of all objects, including those deleted in the meantime.
	known := map[key]time.Time{}
	return finding.Persistent(ctx, p, func(ctx context.Context) (finding.Report, error) {
		for k, at := range noted.take() {
			known[k] = at
		}
		return compareAll(ctx, c, o, o.order(known))
	})
}

// otherLeader returns the node of the leading master; empty if it is this one or if none leads.
func otherLeader(ctx context.Context, c Config, client kubernetes.Interface) (string, error) {
	lease, err := client.CoordinationV1().Leases(c.LeaseNamespace).Get(ctx, c.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	node, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	if node == c.Node {
		return "", nil
	}
	return node, nil
}

// compareAll computes the rows of all objects, as the first reconcile of a term does, and compares both databases.
func compareAll(ctx context.Context, c Config, o *objects, keys []key) (finding.Report, error) {
	desired, annotations := desiredOf(c, o, keys)
	report := finding.Report{Findings: annotations}
	if c.RateLimit != nil {
		limit, err := c.RateLimit()
		if err != nil {
			return report, err
		}
		desired.rows.SetRateLimit(limit)
	}
	desired.rows.Changes()
	rows := desired.rows.Rows()
	schema, north, err := load(ctx, c.NorthboundSocket, northbound.Database, northbound.Tables())
	if err != nil {
		return report, err
	}
	differences, err := ovsdb.Compare(schema, northbound.Owner, rows, north)
	if err != nil {
		return report, err
	}
	_, south, err := load(ctx, c.SouthboundSocket, southboundName, southTables())
	if err != nil {
		return report, err
	}
	report.Findings = append(report.Findings, compareNorth(differences)...)
	report.Findings = append(report.Findings, compareSouth(rows, tunnelAddresses(o, c.tunnelsIPv6()), desired.connected(), southViewOf(south))...)
	return report, nil
}

// desiredOf computes the master's decisions from objects, and findings about objects whose annotations differ. Pods without addresses have no rows: only the
// master assigns addresses.
func desiredOf(c Config, o *objects, keys []key) (*cluster, []finding.Finding) {
	var out []finding.Finding
	decided := newCluster(c.Pools, o)
	decided.requeue = func(key) {}
	decided.event = func(object runtime.Object, _, message string) {
		f := finding.Finding{Kind: finding.Missing, Place: finding.Annotations, What: "annotation", Detail: message}
		switch object := object.(type) {
		case *corev1.Pod:
			f.Object, f.What = "pod "+object.Namespace+"/"+object.Name, "annotation "+podAnnotation
		case *corev1.Node:
			f.Object, f.What = "node "+object.Name, "annotation "+nodeAnnotation
		case *corev1.Namespace:
			f.Kind, f.Object, f.What = finding.Different, "namespace "+object.Name, "annotation "+topology.ACLLogging
		}
		out = append(out, f)
	}
	var without []key
	decided.annotate = func(k key, a annotation) {
		f := finding.Finding{Kind: finding.Different, Place: finding.Annotations, Object: "node " + k.name, What: "annotation " + nodeAnnotation, Detail: "the master would write " + a.value}
		if k.kind == podKind {
			f.Object, f.What = "pod "+k.namespace+"/"+k.name, "annotation "+podAnnotation
			without = append(without, k)
		}
		out = append(out, f)
	}
	decided.apply(keys)
	for _, k := range without {
		decided.rows.DeletePod(netpolicy.ID{Namespace: k.namespace, Name: k.name})
		delete(decided.assignments, k)
	}
	return decided, out
}

// connected returns the logical ports that must be connected, with their nodes: those of running pods, and the management ports. It omits nodes that are not
// Ready.
func (c *cluster) connected() map[string]string {
	out := map[string]string{}
	ready := map[string]bool{}
	for name := range c.blocks {
		if n := get[corev1.Node](c.objects.nodes, key{kind: nodeKind, name: name}); n != nil && decided.NodeReady(n) {
			ready[name] = true
			out[topology.ManagementPort(name)] = name
		}
	}
	for k, g := range c.assignments {
		if p := get[corev1.Pod](c.objects.pods, k); p != nil && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && ready[g.node] {
			out[topology.PodPort(k.namespace, k.name)] = g.node
		}
	}
	return out
}

// load reads a database once.
func load(ctx context.Context, socket, database string, columns map[string][]string) (ovsdb.Schema, ovsdb.Snapshot, error) {
	client, err := ovsdb.Dial(ctx, socket)
	if err != nil {
		return ovsdb.Schema{}, ovsdb.Snapshot{}, fmt.Errorf("connect to %s: %w", database, err)
	}
	defer func() { _ = client.Close() }()
	return ovsdb.Load(ctx, client, database, columns)
}
