package bench

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// connections is how many objects are created at the same time.
const connections = 8

// createAll creates objects, the first few in their order, since namespaces come before what is in them.
func (c *cluster) createAll(b testing.TB, objects []client.Object) {
	b.Helper()
	const ordered = 20
	create := func(o client.Object) error { return c.Client.Create(b.Context(), o) }
	for _, o := range objects[:min(ordered, len(objects))] {
		if err := create(o); err != nil {
			b.Fatal(err)
		}
	}
	var workers sync.WaitGroup
	queue, failed := make(chan client.Object), make(chan error, connections)
	for range connections {
		workers.Go(func() {
			var failure error
			for o := range queue {
				if failure == nil {
					failure = create(o)
				}
			}
			failed <- failure
		})
	}
	for _, o := range objects[min(ordered, len(objects)):] {
		queue <- o
	}
	close(queue)
	workers.Wait()
	for range connections {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
}

// makeNodes returns nodes as kubelets and others fill them: fifty images, annotations of three kilobytes, all
// conditions. Three of them are of the control plane.
func makeNodes(n int) []client.Object {
	var all []client.Object
	for i := range n {
		all = append(all, makeNode(i))
	}
	return all
}

func makeNode(i int) *corev1.Node {
	name := fmt.Sprintf("ip-172-%d-%d-%d.eu-central-1.compute.internal", 16+i>>16, i>>8&255, i&255)
	labels := map[string]string{
		corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		corev1.LabelTopologyZone: "eu-central-1a", corev1.LabelTopologyRegion: "eu-central-1", corev1.LabelInstanceTypeStable: "m6i.4xlarge",
		"node.openshift.io/os_id": "rhel", "machine.openshift.io/interruptible-instance": "",
	}
	if i < 3 {
		labels["node-role.kubernetes.io/control-plane"] = ""
	} else {
		labels["node-role.kubernetes.io/worker"] = ""
	}
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64430712Ki"),
		corev1.ResourcePods: resource.MustParse("250"), corev1.ResourceEphemeralStorage: resource.MustParse("125293548Ki"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations(name)},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/i-" + fmt.Sprintf("%017x", i)},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources, Conditions: conditions(), Images: images(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("172.%d.%d.%d", 16+i>>16, i>>8&255, i&255)},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: fmt.Sprintf("%032x", i), SystemUUID: fmt.Sprintf("%032x", i), BootID: fmt.Sprintf("%032x", i),
				KernelVersion: "5.14.0-570.22.1.el9_6.x86_64", OSImage: "Red Hat Enterprise Linux CoreOS 9.6", OperatingSystem: "linux",
				Architecture: "amd64", ContainerRuntimeVersion: "cri-o://1.33.3", KubeletVersion: "v1.36.3",
			},
		},
	}
}

func annotations(name string) map[string]string {
	all := map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
	for i := range 10 {
		all[fmt.Sprintf("network.example.com/state-%d", i)] = `{"node":"` + name + `","state":"` + strings.Repeat("0123456789abcdef", 16) + `"}`
	}
	return all
}

func conditions() []corev1.NodeCondition {
	var all []corev1.NodeCondition
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		all = append(all, corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient", Message: "kubelet has enough",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()})
	}
	return append(all, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message: "kubelet is posting ready status", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()})
}

// images are as many as a kubelet reports.
func images() []corev1.ContainerImage {
	var all []corev1.ContainerImage
	for i := range 50 {
		repository := fmt.Sprintf("quay.io/openshift-release-dev/ocp-v4.0-art-dev-%02d", i)
		all = append(all, corev1.ContainerImage{SizeBytes: 1 << 28, Names: []string{
			repository + "@sha256:" + strings.Repeat(fmt.Sprintf("%02x", i), 32), repository + ":v4.20.0"}})
	}
	return all
}
