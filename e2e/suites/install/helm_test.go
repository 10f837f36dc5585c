package install

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/release/chart"
	"github.com/cluster-network-operator/cno/internal/version"
)

// values are those of a lab: one control-plane node, and images that were loaded into the nodes.
const values = `images:
  tag: VERSION
operator:
  replicas: 1
  extraEnv:
  - name: KUBE_PROXY_KEEP_CONNTRACK_MAX
    value: "true"
`

// Helm installs both charts in a cluster without a network, and pods talk. Then it upgrades the operator's chart to one with another CRD, and back.
func TestHelmInstallsAWorkingNetwork(t *testing.T) {
	kit.Full(t)
	if _, err := lab.Lab(t.Context(), "build", "helm"); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(settings, []byte(strings.Replace(values, "VERSION", version.String(), 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	operator := charts(t, chart.Operator, "v1.0.0", nil)
	create(t, lab.BareWith(func(ctx context.Context) error {
		if err := helm(ctx, "install", "cno", operator, "--values", settings); err != nil {
			return err
		}
		return helm(ctx, "install", "network", charts(t, chart.Network, "v1.0.0", nil))
	}))
	settles(t)
	pods := lab.ServerOnEachNode(t, lab.Namespace(t), nil)
	works := func() {
		t.Helper()
		if err := lab.Mesh(t.Context(), pods); err != nil {
			t.Error(err)
		}
	}
	works()

	// Another short name is a change of a CRD that discovery shows.
	next := charts(t, chart.Operator, "v1.1.0", func(content []byte) []byte {
		return bytes.Replace(content, []byte("    shortNames:\n    - netop\n"), []byte("    shortNames:\n    - netop\n    - netopnext\n"), 1)
	})
	if err := helm(t.Context(), "upgrade", "cno", next, "--values", settings); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the API server has the CRD of the new chart", func(ctx context.Context) error {
		_, err := lab.Kubectl(ctx, "get", "netopnext", "cluster")
		return err
	})
	settles(t)
	works()
	if err := helm(t.Context(), "rollback", "cno", "1"); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, time.Minute, "the API server has the CRD of the first chart again", func(ctx context.Context) error {
		out, err := lab.Kubectl(ctx, "get", "crd", "networks.operator.openshift.io", "-o", "jsonpath={.spec.names.shortNames}")
		if err == nil && strings.Contains(out, "netopnext") {
			return errors.New(out)
		}
		return err
	})
	settles(t)
	works()
	if err := helm(t.Context(), "uninstall", "cno"); err == nil || !strings.Contains(err.Error(), "Network/cluster exists") {
		t.Errorf("with a Network, helm removes the operator: %v", err)
	}
	works()
}

// charts writes a chart into a directory, with templates that change changes, and returns the directory.
func charts(t *testing.T, name, number string, change func([]byte) []byte) string {
	t.Helper()
	files, err := chart.Files(name, release.Set{Prefix: release.DefaultPrefix, Version: number})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, content := range files {
		if change != nil && file == "templates/manifests.yaml" {
			before := content
			if content = change(content); bytes.Equal(before, content) {
				t.Fatal("the template is not changed")
			}
		}
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// helm runs helm, which keeps its records in the namespace kube-system.
func helm(ctx context.Context, args ...string) error {
	_, err := lab.Helm(ctx, append(args, "--namespace", "kube-system")...)
	return err
}
