package admission

import (
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// TypeOf returns the type of the applied network.
func TypeOf(g *networkoperatorv1.NetworkGuard) operatorv1.NetworkType {
	return operatorv1.NetworkType(g.Data[keyType])
}
