package operator

import (
	"slices"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/api/crds"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/nodestate"
)

// nodeObject returns a NetworkNode; nil if it does not exist.
func (c *cluster) nodeObject(name string) *networkoperatorv1.NetworkNode {
	var object networkoperatorv1.NetworkNode
	if c.Client.Get(c.t.Context(), client.ObjectKey{Name: name}, &object) != nil {
		return nil
	}
	return &object
}

// nodeReady returns a function that reports whether the condition of a NetworkNode has a reason.
func (c *cluster) nodeReady(name, reason string) func() bool {
	return func() bool {
		o := c.nodeObject(name)
		return o != nil && len(o.Status.Conditions) == 1 && o.Status.Conditions[0].Reason == reason
	}
}

func TestObjectsOfNodesFollowTheirCRDAndTheirNodes(t *testing.T) {
	own, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(own, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return d.Name == "networknodes.networkoperator.openshift.io"
	})
	c := newCluster(t, apitest.Options{WithoutProjectCRDs: true, CRDs: slices.Concat(own[:i], own[i+1:])})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	c.create(node)
	c.create(newNetwork())
	c.start()
	c.rolledOut(1)
	c.eventually("the network is available without the CRD", c.is("Available", osv1.ConditionTrue, "AsExpected"))
	definition := own[i].DeepCopy()
	c.create(definition)
	c.eventually("the node has an object once it is installed", c.nodeReady("a", "NodeNotReady"))

	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := c.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	c.eventually("it follows the node", c.nodeReady("a", "AsExpected"))
	object := c.nodeObject("a")
	if err := c.Client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	c.eventually("it is restored after a deletion", func() bool {
		o := c.nodeObject("a")
		return o != nil && o.UID != object.UID && len(o.Status.Conditions) > 0
	})
	object = c.nodeObject("a")
	apitest.ChangeStatus(t, c.Client, object, func() { object.Status.MTU = 7 })
	c.eventually("and after a modification", func() bool { o := c.nodeObject("a"); return o != nil && o.Status.MTU == 0 })
	if err := c.Client.Delete(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	c.eventually("it is deleted with the node", func() bool {
		return apierrors.IsNotFound(c.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, &networkoperatorv1.NetworkNode{}))
	})
}

// TestTrimmedNodesAndPodsHaveTheSameState: cno ui computes it from whole objects, the operator from those in its cache.
func TestTrimmedNodesAndPodsHaveTheSameState(t *testing.T) {
	known := &nodestate.Cluster{Blocks: networks.Blocks, Agents: map[types.NamespacedName]bool{{Namespace: "ns", Name: "x"}: true}, Pools: nodestate.Pools(newNetwork().Spec.ClusterNetwork)}
	node := func(change ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
		for _, f := range change {
			f(n)
		}
		return n
	}
	pod := func(change ...func(*corev1.Pod)) *corev1.Pod {
		p := podOf("x", "p", map[string]string{manifest.LabelManagedBy: manifest.ManagedBy})
		p.Spec.NodeName, p.Spec.Containers = "a", []corev1.Container{{Image: "registry.example/x:v1"}, {Image: "y:v2"}}
		p.Status.Conditions, p.Status.PodIPs = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}, []corev1.PodIP{{IP: "10.128.3.4"}}
		for _, f := range change {
			f(p)
		}
		return p
	}
	for why, tt := range map[string]struct {
		node *corev1.Node
		pod  *corev1.Pod
	}{
		"it works": {node(), pod()},
		"a node is down": {node(func(n *corev1.Node) {
			n.Status.Conditions[0].Status, n.Status.Conditions[0].Message = corev1.ConditionUnknown, "stopped posting"
		}), pod()},
		"cordoned, with a block": {node(func(n *corev1.Node) { n.Spec.Unschedulable, n.Spec.PodCIDRs = true, []string{"10.129.0.0/23"} }), pod()},
		"blocks in an annotation": {node(func(n *corev1.Node) {
			n.Annotations = map[string]string{"k8s.ovn.org/node-subnets": `{"default":["10.130.2.0/23","fd00::/64"]}`}
		}), pod()},
		"on the network of the node": {node(), pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true })},
		"a pod crashes": {node(), pod(func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 4, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "panic: x"}}}}
		})},
	} {
		var whole, trimmed nodestate.Pods
		known.Add(&whole, tt.pod)
		want := known.Of(tt.node, &whole)
		keptNode, err := trimNode(tt.node.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		keptPod, err := new(same).trimPod(tt.pod.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		p, ok := keptPod.(*corev1.Pod)
		if !ok {
			p = &corev1.Pod{}
			keptPod.(*workingPod).fill(p)
		}
		known.Add(&trimmed, p)
		if diff := cmp.Diff(want, known.Of(keptNode.(*corev1.Node), &trimmed)); diff != "" {
			t.Errorf("%s: %s", why, diff)
		}
	}
}
