package northbound

import (
	"strconv"
	"strings"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// ObjectOf names what a row belongs to by its reference: "pod shop/web". The row may be a stale one, whose object does not exist.
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

// PortObject names what a logical port of a switch belongs to, by its name.
func PortObject(port string) string {
	for _, prefix := range []string{topology.ManagementPort(""), topology.SwitchPort("")} {
		if name, is := strings.CutPrefix(port, prefix); is && !strings.Contains(port, "_") {
			return "node " + name
		}
	}
	namespace, name, is := strings.Cut(port, "_")
	if !is {
		return "logical port " + strconv.Quote(port)
	}
	return "pod " + namespace + "/" + name
}

// LogicalPorts are the names of the logical ports among desired rows, those of routers included, which have a row each in the southbound database.
// Datapaths are the names of the switches and routers.
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
