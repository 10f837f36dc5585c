package allowlist

import (
	"embed"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

//go:embed assets
var assets embed.FS

const (
	// variable is the environment variable with the list.
	variable = "ALLOWLIST"
	// annotationSince is the time of the last change of the list.
	annotationSince = "network.operator.openshift.io/allowlist-since"
	// account is the service account with access to files of nodes on OpenShift.
	account = "multus-ancillary-tools"
)

// settings are the inputs of the DaemonSet in addition to the list.
type settings struct {
	Image, Version string
	// Account is the service account of the pods. Empty means the default of the namespace.
	Account string
	Since   time.Time
	// Workloads are the workload overrides.
	Workloads []operatorv1.Workload
}

// daemonSet returns the DaemonSet that writes a list on nodes.
func daemonSet(list string, s settings) (manifest.Object, error) {
	ds, err := manifest.Decode[appsv1.DaemonSet](assets, "assets/daemonset.yaml")
	if err != nil {
		return manifest.Object{}, err
	}
	ds.Annotations = map[string]string{annotationSince: s.Since.UTC().Format(time.RFC3339)}
	ds.Spec.Template.Spec.ServiceAccountName = s.Account
	container := &ds.Spec.Template.Spec.Containers[0]
	container.Image = s.Image
	// Kubernetes replaces $(NAME) in values, and a $ in front of a $ is a plain one.
	container.Env[0].Value = strings.ReplaceAll(list, "$", "$$")
	object, err := manifest.New(ds, manifest.Policy{})
	if err != nil {
		return manifest.Object{}, err
	}
	if err := pipeline.OverrideWorkload(object.Object, s.Workloads); err != nil {
		return manifest.Object{}, fmt.Errorf("apply spec.workloads to %s: %w", workload, err)
	}
	manifest.Stamp(object, component, s.Version)
	return object, nil
}

// listOf returns the list that a DaemonSet installs; a DaemonSet of a third party has none.
func listOf(ds *appsv1.DaemonSet) string {
	for _, container := range ds.Spec.Template.Spec.Containers {
		for _, env := range container.Env {
			if env.Name == variable {
				return strings.ReplaceAll(env.Value, "$$", "$")
			}
		}
	}
	return "\x00"
}

// since returns the time of the last change of a DaemonSet's list.
func since(ds *appsv1.DaemonSet) time.Time {
	if t, err := time.Parse(time.RFC3339, ds.Annotations[annotationSince]); err == nil {
		return t
	}
	return ds.CreationTimestamp.Time
}
