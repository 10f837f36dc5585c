package lab

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

// applyOpenShift creates OpenShift's CRDs and the objects that its installer
// creates.
func (l *Lab) applyOpenShift(ctx context.Context) error {
	files, err := openshift.ModuleFiles(ctx, filepath.Join(l.host.Layout.Root, "e2e"))
	if err != nil {
		return err
	}
	definitions, err := openshift.Definitions(files, openshift.Kinds()...)
	if err != nil {
		return err
	}
	objects, err := openshift.Objects(openShiftCluster(l.record.Topology))
	if err != nil {
		return err
	}
	var withStatus []*unstructured.Unstructured
	for _, o := range objects {
		if _, ok := o.Object["status"]; ok {
			withStatus = append(withStatus, o)
		}
	}
	if err := applyUntilAccepted(ctx, l, definitions); err != nil {
		return err
	}
	if err := applyUntilAccepted(ctx, l, objects); err != nil {
		return err
	}
	return applyUntilAccepted(ctx, l, withStatus, "--subresource=status")
}

// openShiftCluster returns the installer's parameters for a lab.
func openShiftCluster(t topology.Topology) openshift.Cluster {
	planes := len(t.ControlPlanes())
	c := openshift.Cluster{
		Name: "lab", BaseDomain: "example.com", NetworkType: "Flannel",
		ServiceNetwork: t.ServiceNetwork, MachineNetwork: t.Family.Underlay(), APIServer: t.Endpoint(),
		ControlPlanes: planes, Workers: len(t.Nodes) - planes,
	}
	for _, p := range c.MachineNetwork {
		if p.Addr().Is4() {
			c.PodNetwork, c.HostPrefix = append(c.PodNetwork, netip.MustParsePrefix("10.128.0.0/14")), append(c.HostPrefix, 23)
		} else {
			c.PodNetwork, c.HostPrefix = append(c.PodNetwork, netip.MustParsePrefix("fd01::/48")), append(c.HostPrefix, 64)
		}
	}
	return c
}

// stream encodes objects as one YAML stream.
func stream[T any](objects []T) ([]byte, error) {
	var out bytes.Buffer
	for _, o := range objects {
		data, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encode %T: %w", o, err)
		}
		fmt.Fprintf(&out, "---\n%s", data)
	}
	return out.Bytes(), nil
}

// applyUntilAccepted applies objects with one command, and retries until the API
// server serves their kinds.
func applyUntilAccepted[T any](ctx context.Context, l *Lab, objects []T, flags ...string) error {
	yaml, err := stream(objects)
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		_, err := l.Kubectl(ctx, bytes.NewReader(yaml), append([]string{"apply", "--server-side", "--filename=-"}, flags...)...)
		return err
	})
}
