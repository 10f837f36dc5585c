package config

import (
	"fmt"

	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// KubeProxy is the name of the service proxy's unit, if the lab runs it.
const KubeProxy = "kube-proxy"

// Units returns the units of a node or an outside host in the order of their start.
func Units(t topology.Topology, node topology.Node) []supervisor.Unit {
	n := Node{Topology: t, Node: node}
	if n.Role == topology.Outside {
		return outsideUnits(n)
	}
	var units []supervisor.Unit
	if n.Role == topology.ControlPlane {
		units = append(units, etcdUnit(n), apiServerUnit(n), controllerManagerUnit(n), schedulerUnit(n))
	}
	units = append(units, containerdUnit(), kubeletUnit(n))
	if t.KubeProxy {
		units = append(units, kubeProxyUnit(n))
	}
	return units
}

// Unit returns one unit of a node.
func Unit(t topology.Topology, node topology.Node, name string) (supervisor.Unit, error) {
	var names []string
	for _, u := range Units(t, node) {
		if u.Name == name {
			return u, nil
		}
		names = append(names, u.Name)
	}
	return supervisor.Unit{}, fmt.Errorf("%s runs no %q, but %v", node.Name, name, names)
}

// kubeProxyUnit does not set the sizes of the connection table: they apply to the
// machine, not to the namespace.
func kubeProxyUnit(n Node) supervisor.Unit {
	return unit(KubeProxy,
		"--kubeconfig="+kubernetesDir+"/"+pki.KubeProxy+".conf",
		"--hostname-override="+n.Name,
		"--proxy-mode=nftables",
		"--conntrack-max-per-core=0",
		"--conntrack-min=0",
	)
}
