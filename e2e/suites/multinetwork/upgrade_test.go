package multinetwork

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// upgraded are the DaemonSets that attach pods, by the variable with the image that the operator uses for them.
var upgraded = map[string]client.ObjectKey{
	"MULTUS_IMAGE":  {Namespace: "openshift-multus", Name: "multus"},
	"FLANNEL_IMAGE": {Namespace: kit.FlannelNamespace, Name: "flanneld"},
}

// The daemons of all nodes are replaced by those of another release, and by the previous ones again, while pods send packets on their further networks. Each
// release detaches the pods that the other has attached. Both are builds of one commit: the records of other versions have tests of their own.
func TestUpgradeAndBackWithAttachedPods(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	define(t, ns, "link", macvlanIPs)
	define(t, ns, "pool", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"192.0.2.64/28"}}`)
	define(t, ns, "leased", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1","ipam":{"type":"dhcp"}}`)
	define(t, ns, "local", bridgeLocal)
	pod := func(name, node, number string) *corev1.Pod {
		return asking(ns, name, node, `[{"name":"link","ips":["203.0.113.`+number+`/24"]},{"name":"pool"},{"name":"leased"},{"name":"local"}]`)
	}
	a, b, earlier := run(t, pod("a", "worker-0", "81")), run(t, pod("b", "worker-1", "82")), run(t, pod("earlier", "worker-0", "83"))
	before := statusOf(t, a)
	// Each of the first three networks has a subnet of its own: the link, the pool, and the one of the host outside, which assigns leases.
	linkOfB, poolOfA := "203.0.113.82", before[2].IPs[0]
	for address, from := range map[string]*corev1.Pod{linkOfB: a, poolOfA: b, outside4: a} {
		kit.Eventually(t, time.Minute, from.Name+" reaches "+address, func(ctx context.Context) error { return lab.Ping(ctx, from, address) })
	}
	stops := []func(){lab.Talk(t, a, linkOfB), lab.Talk(t, b, poolOfA)}

	images := installed(t)
	release(t, images, "next")
	between := run(t, pod("between", "worker-0", "84"))
	remove(t, earlier)
	attached(t, "worker-0", ends, 2) // those of a and between
	release(t, images, "")
	remove(t, between)
	attached(t, "worker-0", ends, 1)

	for _, stop := range stops {
		stop()
	}
	if diff := cmp.Diff(before, statusOf(t, a)); diff != "" {
		t.Errorf("a pod that ran all the time has other networks than before: %s", diff)
	}
	if err := lab.Ping(t.Context(), a, outside4); err != nil {
		t.Error(err)
	}
	remove(t, a)
	remove(t, b)
	left(t, "worker-0")
	left(t, "worker-1")
}

// installed returns the images of the DaemonSets, by variable, and restores them when the test ends.
func installed(t *testing.T) map[string]string {
	t.Helper()
	images := map[string]string{}
	for variable, key := range upgraded {
		d := &appsv1.DaemonSet{}
		if err := lab.Client.Get(t.Context(), key, d); err != nil {
			t.Fatal(err)
		}
		images[variable] = d.Spec.Template.Spec.Containers[0].Image
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
		defer cancel()
		if err := deploy(ctx, nil); err != nil {
			t.Error(err)
		}
		if err := kit.Poll(ctx, 5*time.Minute, lab.Settled); err != nil {
			t.Error(err)
		}
	})
	return images
}

// release makes the operator roll out the installed images under another tag, which it also gets as its version, and waits until all nodes have them. An
// empty tag restores the installed ones.
func release(t *testing.T, images map[string]string, tag string) {
	t.Helper()
	want, set := images, []string(nil)
	if tag != "" {
		want, set = map[string]string{}, []string{"RELEASE_VERSION=" + tag}
		for variable, image := range images {
			want[variable] = image[:strings.LastIndex(image, ":")+1] + tag
			set = append(set, variable+"="+want[variable])
			for _, node := range []string{"cp-0", "worker-0", "worker-1"} {
				if _, err := lab.Lab(t.Context(), "exec", node, "--", "ctr", "--namespace=k8s.io", "images", "tag", "--force", image, want[variable]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := deploy(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, 8*time.Minute, "all nodes have the images "+fmt.Sprint(want), func(ctx context.Context) error {
		for variable, key := range upgraded {
			if err := rolledOut(ctx, key, want[variable]); err != nil {
				return err
			}
		}
		return lab.Settled(ctx)
	})
}

// deploy sets variables of the operator, or removes those that release sets, and waits until it runs with them.
func deploy(ctx context.Context, set []string) error {
	if set == nil {
		set = []string{"RELEASE_VERSION-"}
		for variable := range upgraded {
			set = append(set, variable+"-")
		}
	}
	args := append([]string{"-n", kit.OperatorNamespace, "set", "env", "deployment/" + kit.OperatorDeployment}, set...)
	if _, err := lab.Kubectl(ctx, args...); err != nil {
		return err
	}
	return kit.Poll(ctx, 2*time.Minute, lab.OperatorRuns)
}

// rolledOut returns nil if all pods of a DaemonSet have an image and are available.
func rolledOut(ctx context.Context, key client.ObjectKey, image string) error {
	d := &appsv1.DaemonSet{}
	if err := lab.Client.Get(ctx, key, d); err != nil {
		return err
	}
	if have := d.Spec.Template.Spec.Containers[0].Image; have != image {
		return fmt.Errorf("DaemonSet %s has the image %s", key, have)
	}
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.UpdatedNumberScheduled < s.DesiredNumberScheduled || s.NumberAvailable < s.DesiredNumberScheduled {
		return fmt.Errorf("DaemonSet %s: of %d pods, %d are new and %d available", key, s.DesiredNumberScheduled, s.UpdatedNumberScheduled, s.NumberAvailable)
	}
	return nil
}
