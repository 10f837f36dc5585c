package safety

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/version"
)

// The image must-gather runs as "oc adm must-gather" runs it: as a pod of an administrator, with a volume at /must-gather, whose container is started with bash.
// What it writes is read as oc copies it: with tar.
func TestMustGatherRunsInACluster(t *testing.T) {
	kit.Full(t)
	ns := lab.Namespace(t)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "default"}},
	}
	if err := lab.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := lab.Client.Delete(ctx, binding); err != nil {
			t.Error(err)
		}
	})
	images := release.Set{Prefix: release.DefaultPrefix, Version: version.String()}
	grace := int64(0)
	pod, err := lab.RunPod(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "must-gather"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Volumes:                       []corev1.Volume{{Name: "output", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{
				Name: "gather", Image: images.Reference("must-gather"),
				Command:      []string{"/bin/bash", "-c", "/usr/bin/gather; echo $? > /must-gather/status; sync; while true; do sleep 1; done"},
				VolumeMounts: []corev1.VolumeMount{{Name: "output", MountPath: "/must-gather"}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := func(ctx context.Context, command string) (string, error) {
		return lab.Kubectl(ctx, "-n", ns, "exec", pod.Name, "--", "/bin/bash", "-c", command)
	}
	kit.Eventually(t, 5*time.Minute, "the collection ends without an error", func(ctx context.Context) error {
		out, err := in(ctx, "cat /must-gather/status")
		if err == nil && strings.TrimSpace(out) != "0" {
			return errors.New("it ended with status " + out)
		}
		return err
	})
	files, err := in(t.Context(), "tar -C / -cf - must-gather | tar -tf -")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"must-gather/report.txt", "must-gather/cluster-scoped-resources/operator.openshift.io/networks/cluster.yaml", "must-gather/namespaces/" + kit.FlannelNamespace + "/apps/daemonsets.yaml"} {
		if !strings.Contains(files, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, files)
		}
	}
}
