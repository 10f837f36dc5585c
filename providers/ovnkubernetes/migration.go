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

// PodMTU returns the MTU that a filled specification gives pods, and what Geneve and IPsec take for themselves.
func (OVNKubernetes) PodMTU(spec *operatorv1.NetworkSpec) (mtu, overhead int) {
	_, ipsec := ipsecOverhead(spec)
	return int(*orZero(settings(spec).MTU)), geneve + ipsec
}

// MTUAgents is where the operator watches agents during a change of the MTU.
func (OVNKubernetes) MTUAgents() provider.MTUAgents {
	return provider.MTUAgents{Component: string(operatorv1.NetworkTypeOVNKubernetes), Namespace: agentconfig.Namespace, ConfigMap: agentconfig.ConfigMap, App: nodeName}
}

// CheckLinks refuses an MTU that, with what Geneve and IPsec add, is more than a link of a node takes.
func (o OVNKubernetes) CheckLinks(spec *operatorv1.NetworkSpec, known facts.Cluster) field.ErrorList {
	mtu, overhead := o.PodMTU(spec)
	by := "Geneve"
	if overhead > geneve {
		by = "Geneve with IPsec"
	}
	return mtumigration.CheckLinks(o.MTUPath(), mtu, overhead, by, known.LinkMTU())
}

// observeMTU reads what agents have of the MTU; nil if there are none, or if they do not follow a file yet. The operator's caches do not have the ConfigMaps of this
// namespace.
func observeMTU(ctx context.Context, r client.Reader) (*mtumigration.State, error) {
	var config corev1.ConfigMap
	err := provider.Direct(r).Get(ctx, client.ObjectKey{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, &config)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", agentconfig.Namespace, agentconfig.ConfigMap, err)
	}
	// What cannot be read is about to be written again.
	if m, decodeErr := agentconfig.DecodeMTU([]byte(config.Data[agentconfig.KeyMTUState])); err == nil && decodeErr == nil {
		return new(mtumigration.StateOf(m.MTU, m.Migration)), nil
	}
	return nil, nil
}

// addMTU adds what agents are to have of the MTU to the data of the ConfigMap, and the record of a change of it. It returns the MTU of interfaces. Pods do not
// restart for it: Open vSwitch would with them.
func addMTU(data map[string]string, told *mtumigration.State, spec *operatorv1.NetworkSpec, progress facts.MTUMigration) (int, error) {
	next, err := mtumigration.Render(told, int(*settings(spec).MTU), spec, progress, data)
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
