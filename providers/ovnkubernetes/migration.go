package ovnkubernetes

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

var (
	_ provider.MTUReporter = OVNKubernetes{}
	_ provider.LinkChecker = OVNKubernetes{}
)

// MTUPath is the path of the field that sets the MTU of pods.
func (OVNKubernetes) MTUPath() *field.Path { return configPath.Child("mtu") }

// PodMTU returns the MTU that a defaulted specification gives pods, and the overhead of Geneve and IPsec, all in bytes.
func (OVNKubernetes) PodMTU(spec *operatorv1.NetworkSpec) (mtu, overhead int) {
	_, ipsec := ipsecOverhead(spec)
	return int(*orZero(settings(spec).MTU)), geneve(spec) + ipsec
}

// MTUAgents returns the agents that the operator watches during an MTU migration.
func (OVNKubernetes) MTUAgents() provider.MTUAgents {
	return provider.MTUAgents{Component: string(operatorv1.NetworkTypeOVNKubernetes), Namespace: agentconfig.Namespace, ConfigMap: agentconfig.ConfigMap, App: nodeName}
}

// CheckLinks rejects an MTU that, with the overhead of Geneve and IPsec, exceeds the MTU of a node's link.
func (o OVNKubernetes) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	mtu, overhead := o.PodMTU(spec)
	by := "Geneve"
	if overhead > geneve(spec) {
		by = "Geneve with IPsec"
	}
	return mtumigration.CheckLinks(o.MTUPath(), mtu, overhead, by, known.LinkMTU())
}

// observeMTU reads the MTU from the agents' current configuration; nil if none exists, or if it has no MTU state. The operator's caches exclude the ConfigMaps
// of this namespace.
func observeMTU(ctx context.Context, r client.Reader) (*mtumigration.State, error) {
	var config corev1.ConfigMap
	err := provider.Direct(r).Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, &config)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", agentconfig.Namespace, agentconfig.ConfigMap, err)
	}
	// A value that cannot be decoded is ignored: Render replaces it.
	if m, decodeErr := agentconfig.DecodeMTU([]byte(config.Data[agentconfig.KeyMTUState])); err == nil && decodeErr == nil {
		return new(mtumigration.StateOf(m.MTU, m.Migration)), nil
	}
	return nil, nil
}

// addMTU adds the MTU and the record of its migration to the data of the ConfigMap. It returns the MTU of interfaces. Pods do not restart for it, since Open
// vSwitch would restart with them.
func addMTU(data map[string]string, current *mtumigration.State, spec *operatorv1.NetworkSpec, progress facts.MTUMigration) (int, error) {
	next, err := mtumigration.Render(current, int(*settings(spec).MTU), spec, progress, data)
	if err != nil {
		return 0, err
	}
	text, err := agentconfig.MTU{MTU: next.MTU, Migration: next.Migration("")}.Encode()
	if err != nil {
		return 0, err
	}
	data[agentconfig.KeyMTU], data[agentconfig.KeyMTUState] = strconv.Itoa(next.MTU), text
	return next.MTU, nil
}
