package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/version"
)

const (
	// earlierCommit is the first commit whose cno installs an operator: of all commits that can be a release, it differs most from this one.
	// Once there is a release, its commit takes this place.
	earlierCommit = "75c439727b3b7ec2255563ccfbee5f7d287bb475"
	// earlierVersion is older than the default version of a build by one minor version, as far as cno upgrade --downgrade goes back.
	earlierVersion = "v0.0.9"
	// newerBinding is a ClusterRoleBinding that only this release renders.
	newerBinding = "openshift-multus-metrics"
)

// command runs a cno.
type command func(ctx context.Context, input string, args ...string) (out string, status int, err error)

// succeeds runs a cno, fails the test unless it succeeds, and returns what it prints.
func (run command) succeeds(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out, status, err := run(ctx, "", args...)
	if err != nil || status != 0 {
		t.Fatalf("cno %s: status %d, %v\n%s", strings.Join(args, " "), status, err, out)
	}
	return out
}

// revisions returns the history that a cno reads, the oldest revision first.
func (run command) revisions(t *testing.T) []applied.Revision {
	t.Helper()
	var list []applied.Revision
	if err := json.Unmarshal([]byte(run.succeeds(t, "history", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// The operator of an earlier release is replaced by this one, and that one by the earlier again, while pods talk across nodes and by a Service. Each reads
// the record and the history that the other has written.
func TestUpgradeFromAnEarlierReleaseAndBack(t *testing.T) {
	kit.Full(t)
	earlier, err := lab.Earlier(t.Context(), earlierCommit, earlierVersion, "cluster-network-operator", "egress-router", "etcd", "flannel", "host-network", "kube-proxy", "multus")
	if err != nil {
		t.Fatal(err)
	}
	images, err := earlier.Images()
	if err != nil {
		t.Fatal(err)
	}
	old, current := command(earlier.CNO), command(lab.CNO)
	create(t, lab.BareWith(func(ctx context.Context) error {
		out, status, err := earlier.CNO(ctx, "", "install")
		if err != nil {
			return err
		}
		if status != 0 {
			return fmt.Errorf("cno install of %s ends with status %d:\n%s", earlier, status, out)
		}
		return lab.ForNodesOfALab(ctx)
	}, images...))
	apply(t, sample(t, "network-flannel.yaml"))
	runs(t, earlierVersion)
	first := old.revisions(t)

	service, pods := lab.Expose(t, func(s *corev1.ServiceSpec) { s.Ports[0].Port = 8080 })
	url := "http://" + service.Spec.ClusterIP + ":8080/hostname"
	var stops []func()
	for from, to := range map[string]string{"cp-0": "worker-0", "worker-0": "worker-1", "worker-1": "cp-0"} {
		stops = append(stops, lab.Talk(t, pods[from], pods[to].Status.PodIP, url))
	}

	start := time.Now()
	t.Log(current.succeeds(t, "upgrade", "--wait"))
	runs(t, version.String())
	t.Logf("%s -> %s: %s", earlier, version.String(), time.Since(start).Round(time.Second))
	upgraded := current.revisions(t)
	startsWith(t, "after the upgrade", upgraded, first)
	if err := lab.Update(t.Context(), func(s *operatorv1.NetworkSpec) { s.LogLevel = osv1.Debug }); err != nil {
		t.Fatal(err)
	}
	runs(t, version.String())
	edited := current.revisions(t)
	startsWith(t, "after an edit", edited, upgraded)
	if len(edited) != len(upgraded)+1 {
		t.Errorf("an edit makes the history %d revisions long, want %d", len(edited), len(upgraded)+1)
	}

	start = time.Now()
	t.Log(old.succeeds(t, "upgrade", "--downgrade", "--wait"))
	// The policies of the earlier commit list the bindings that its operator may delete by name. Those of releases let the operator delete
	// everything that has its label (TestOperatorCannotReadEverySecret).
	kit.Eventually(t, 10*time.Minute, "the condition names the object that the earlier operator may not delete", func(ctx context.Context) error {
		return lab.HasCondition(ctx, "Degraded", "True", "ApplyOperatorConfig", "delete ClusterRoleBinding "+newerBinding)
	})
	if _, err := lab.Kubectl(t.Context(), "delete", "clusterrolebinding", newerBinding); err != nil {
		t.Fatal(err)
	}
	runs(t, earlierVersion)
	t.Logf("%s -> %s: %s", version.String(), earlier, time.Since(start).Round(time.Second))
	startsWith(t, "after the downgrade", old.revisions(t), edited)
	old.succeeds(t, "rollback", fmt.Sprint(first[len(first)-1].Number), "--watch")
	runs(t, earlierVersion)
	if n, err := lab.Network(t.Context()); err != nil || n.Spec.LogLevel == osv1.Debug {
		t.Errorf("after the earlier release has rolled back to its own revision, logLevel is %q (%v)", n.Spec.LogLevel, err)
	}

	for _, stop := range stops {
		stop()
	}
	if err := lab.Mesh(t.Context(), pods); err != nil {
		t.Error(err)
	}
}

// startsWith fails the test unless a history has the revisions of a previous one, unchanged.
func startsWith(t *testing.T, when string, got, want []applied.Revision) {
	t.Helper()
	if len(want) == 0 || len(got) < len(want) {
		t.Fatalf("%s the history has %d revisions, before it had %d", when, len(got), len(want))
	}
	for i := range want {
		if got[i].Number != want[i].Number || got[i].Hash != want[i].Hash || got[i].OperatorVersion != want[i].OperatorVersion || !got[i].Time.Equal(want[i].Time) {
			t.Errorf("%s revision %d is %+v, before it was %+v", when, want[i].Number, got[i], want[i])
		}
	}
}

// runs waits until the network is settled with a version of the operator.
func runs(t *testing.T, version string) {
	t.Helper()
	kit.Eventually(t, 10*time.Minute, "the network runs with "+version, func(ctx context.Context) error {
		if err := lab.Settled(ctx); err != nil {
			return err
		}
		n, err := lab.Network(ctx)
		if err != nil {
			return err
		}
		var sets appsv1.DaemonSetList
		if err := lab.Client.List(ctx, &sets, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
			return err
		}
		if len(sets.Items) == 0 {
			return errors.New("there is no DaemonSet")
		}
		for _, d := range sets.Items {
			if got := d.Annotations[manifest.AnnotationVersion]; got != version {
				return fmt.Errorf("DaemonSet %s has version %q", d.Name, got)
			}
		}
		if n.Status.Version != version {
			return fmt.Errorf("the status has version %q", n.Status.Version)
		}
		return lab.NodesReady(ctx)
	})
}
