package northbound

import (
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// ObjectOf returns the object of a row by the row's reference: "pod shop/web". The object of a stale row does not exist.
func ObjectOf(r ovsdb.Ref) string {
	const node = "node "
	switch r.Table {
	case tablePort:
		return PortObject(r.Key)
	case tableLimit:
		return PortObject(limitedPort(r.Key))
	case tableRouterPort:
		return node + strings.TrimPrefix(r.Key, topology.RouterPort(""))
	case tableSwitch:
		return node + r.Key
	case tablePolicy:
		name, _, _ := strings.Cut(r.Key, " ")
		return node + name
	case tableBalancer:
		// Service_NAMESPACE/NAME_PROTOCOL_...; none of the parts has an underscore.
		if parts := strings.Split(r.Key, "_"); len(parts) > 2 && parts[0] == "Service" {
			return "Service " + parts[1]
		}
	case tableAccessRules:
		return topology.Explain(r.Key)
	case tableAddresses:
		return "a selection of NetworkPolicies, " + strconv.Quote(r.Key)
	case tablePortGroup:
		if r.Key != clusterGroup {
			return "NetworkPolicies or multicast of a namespace"
		}
	}
	return "the cluster"
}

// PortObject returns the object of a logical switch port by the port's name.
func PortObject(port string) string {
	for _, prefix := range []string{topology.ManagementPort(""), topology.SwitchPort("")} {
		if name, ok := strings.CutPrefix(port, prefix); ok && !strings.Contains(port, "_") {
			return "node " + name
		}
	}
	namespace, name, ok := strings.Cut(port, "_")
	if !ok {
		return "logical port " + strconv.Quote(port)
	}
	return "pod " + namespace + "/" + name
}

// LogicalPorts returns the names of the logical ports in desired rows, including those of routers, each of which has a row in the southbound database.
// datapaths are the names of switches and routers.
func LogicalPorts(rows []ovsdb.Desired) (ports, datapaths []string) {
	for _, row := range rows {
		name, _ := row.Columns["name"].(string)
		switch row.Table {
		case tablePort, tableRouterPort:
			ports = append(ports, name)
		case tableSwitch, tableRouter:
			datapaths = append(datapaths, name)
		}
	}
	return ports, datapaths
}
