package networks

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// ofOthers are namespaces that are not the operator's own, and whose owner admits pods on the nodes' network.
var ofOthers = map[string]bool{"openshift-multus": true}

// spc is the SELinux type of containers that may write on the host without being privileged.
const spc = "spc_t"

// rendered returns all objects that the tree installs or renders: what is in config, the assets of providers and
// controllers, and the expected outputs of their tests, which have what code adds to assets.
func rendered(t *testing.T) map[string][]manifest.Typed {
	t.Helper()
	all := map[string][]manifest.Typed{}
	for _, root := range []string{"../../config", "../../providers", "../../internal/controller"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			dir := filepath.Base(filepath.Dir(path))
			wanted := root == "../../config" && filepath.Base(path) != "kustomization.yaml" || dir == "assets" || strings.HasSuffix(path, ".out.yaml")
			if err != nil || entry.IsDir() || !wanted || filepath.Ext(path) != ".yaml" {
				return err
			}
			all[path], err = manifest.DecodeAll(os.DirFS(filepath.Dir(path)), filepath.Base(path))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// podOf returns the pod that an object makes; nil if it makes none.
func podOf(o manifest.Typed) *corev1.PodSpec {
	switch w := o.(type) {
	case *appsv1.DaemonSet:
		return &w.Spec.Template.Spec
	case *appsv1.Deployment:
		return &w.Spec.Template.Spec
	}
	return nil
}

// TestPodsThatWriteToTheHostAreAllowed looks at every container that mounts a directory of the host so that it can write: where SELinux
// enforces, only a privileged one and one of type spc_t may.
func TestPodsThatWriteToTheHostAreAllowed(t *testing.T) {
	checked := map[string]bool{}
	for path, objects := range rendered(t) {
		for _, o := range objects {
			pod := podOf(o)
			if pod == nil {
				continue
			}
			ofHost := map[string]bool{}
			for _, v := range pod.Volumes {
				ofHost[v.Name] = v.HostPath != nil
			}
			for _, c := range append(append([]corev1.Container{}, pod.InitContainers...), pod.Containers...) {
				for _, m := range c.VolumeMounts {
					if !ofHost[m.Name] || m.ReadOnly {
						continue
					}
					checked[o.GetName()] = true
					if !writesOnHost(pod, c) {
						t.Errorf("%s: container %s of %s writes %s of the host, is not privileged and has no SELinux type %s", path, c.Name, manifest.KeyOf(o), m.MountPath, spc)
					}
				}
			}
		}
	}
	for _, name := range []string{"flanneld", "openshift-kube-proxy", "cni-sysctl-allowlist-ds"} {
		if !checked[name] {
			t.Errorf("%s was not looked at", name)
		}
	}
}

// writesOnHost reports whether SELinux allows a container to write to the host.
func writesOnHost(pod *corev1.PodSpec, c corev1.Container) bool {
	s := c.SecurityContext
	switch {
	case s != nil && s.Privileged != nil && *s.Privileged:
		return true
	case s != nil && s.SELinuxOptions != nil:
		return s.SELinuxOptions.Type == spc
	}
	return pod.SecurityContext != nil && pod.SecurityContext.SELinuxOptions != nil && pod.SecurityContext.SELinuxOptions.Type == spc
}

// TestNamespacesAdmitPodsOnTheHostsNetwork looks at the namespace of every pod on the host's network or with directories of the
// host: Pod Security must let it in, and OpenShift's security context constraints must not hold it back, which do not serve before
// there is a network.
func TestNamespacesAdmitPodsOnTheHostsNetwork(t *testing.T) {
	all := rendered(t)
	namespaces := map[string]*corev1.Namespace{}
	for _, objects := range all {
		for _, o := range objects {
			// A namespace without labels is completed by the operator.
			if ns, ok := o.(*corev1.Namespace); ok && len(ns.Labels) > 0 {
				namespaces[ns.Name] = ns
			}
		}
	}
	for path, objects := range all {
		for _, o := range objects {
			pod := podOf(o)
			if pod == nil || ofOthers[o.GetNamespace()] || !onHost(pod) {
				continue
			}
			ns := namespaces[o.GetNamespace()]
			if ns == nil {
				t.Errorf("%s: there is no namespace of %s", path, manifest.KeyOf(o))
				continue
			}
			for label, want := range map[string]string{"openshift.io/run-level": "0", "pod-security.kubernetes.io/enforce": "privileged"} {
				if got := ns.Labels[label]; got != want {
					t.Errorf("namespace %s, of %s, has the label %s=%q, want %q", ns.Name, manifest.KeyOf(o), label, got, want)
				}
			}
		}
	}
}

// onHost reports whether a pod uses the host's network or its directories.
func onHost(pod *corev1.PodSpec) bool {
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			return true
		}
	}
	return pod.HostNetwork
}
