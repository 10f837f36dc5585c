package kit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

const (
	// AllowDeletion is the annotation that permits the deletion of an object of a network in use.
	AllowDeletion = "networkoperator.openshift.io/allow-deletion"
	// allowUnsafe is the annotation that permits an edit that the admission policies refuse otherwise.
	allowUnsafe = "networkoperator.openshift.io/allow-unsafe"
	// Repaired is the time limit for the repair of drift. Watches trigger the repair; a poll would take minutes. The limit allows for a
	// busy machine.
	Repaired = 20 * time.Second
)

// Change reads an object, which needs only a key, and changes it with a merge patch of what the function changes in it. In contrast to an
// update, the patch does not conflict with the writes of controllers, which may come at any time.
func (k *Kit) Change(ctx context.Context, object client.Object, change func()) error {
	if err := k.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	before := object.DeepCopyObject().(client.Object)
	change()
	return k.Client.Patch(ctx, object, client.MergeFrom(before))
}

// Update changes the spec of Network/cluster.
func (k *Kit) Update(ctx context.Context, change func(*operatorv1.NetworkSpec)) error {
	n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
	return k.Change(ctx, n, func() { change(&n.Spec) })
}

// Edit changes the spec of Network/cluster, and restores it when the test ends.
func (k *Kit) Edit(t testing.TB, change func(*operatorv1.NetworkSpec)) {
	t.Helper()
	n, err := k.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		err := k.Update(ctx, func(s *operatorv1.NetworkSpec) { *s = n.Spec })
		if err == nil {
			err = Poll(ctx, 2*time.Minute, k.Settled)
		}
		if err != nil {
			t.Errorf("restore Network/cluster: %v", err)
		}
	})
	if err := k.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// EditUnsafe is Edit for a change that the API server accepts only with an annotation that allows it.
func (k *Kit) EditUnsafe(t testing.TB, change func(*operatorv1.NetworkSpec)) {
	t.Helper()
	allow := func(ctx context.Context, value string) {
		n := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, allowUnsafe, value)
		if err := k.Client.Patch(ctx, n, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Error(err)
		}
	}
	allow(t.Context(), "true")
	t.Cleanup(func() { allow(context.Background(), "") })
	k.Edit(t, change)
}

// ConfigMap returns a ConfigMap of the operator.
func (k *Kit) ConfigMap(t testing.TB, name string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: OperatorNamespace, Name: name}, cm); err != nil {
		t.Fatal(err)
	}
	return cm
}

// Orphan deletes a DaemonSet but not its pods, waits until the DaemonSet is deleted, and returns it.
func (k *Kit) Orphan(t testing.TB, key client.ObjectKey) *appsv1.DaemonSet {
	t.Helper()
	ds := &appsv1.DaemonSet{}
	if err := k.Client.Get(t.Context(), key, ds); err != nil {
		t.Fatal(err)
	}
	old := ds.DeepCopy()
	if err := k.Client.Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Minute, "the DaemonSet is deleted", func(ctx context.Context) error {
		if err := k.Client.Get(ctx, key, ds); err != nil || ds.UID != old.UID {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it is still being deleted")
	})
	return old
}

// Kill sends SIGKILL to the processes on the first control-plane node whose command line has a prefix, and reports whether it found any.
func (k *Kit) Kill(ctx context.Context, commandLine string) (bool, error) {
	out, err := k.Lab(ctx, "exec", "cp-0", "--", "sh", "-c",
		"for c in /proc/[0-9]*/cmdline; do p=${c%/cmdline}; tr '\\0' ' ' <$c 2>/dev/null | grep -q '^"+commandLine+"' && kill -9 ${p#/proc/} && echo killed; done; true")
	return strings.Contains(out, "killed"), err
}
