package controller

import (
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Specs returns the controllers of flannel, for the operator's list.
func Specs(n loop.Network) []loop.Spec {
	n.Board.Await(Name)
	log := n.Log.With("controller", Name)
	databases, err := NewMetrics(n.Metrics)
	if err != nil {
		log.Error("register the metrics of flannel's etcd", "error", err)
	}
	return New(Deps{
		Client: n.Client, Nodes: n.Nodes, Live: n.Live, Namespace: n.Namespace, Now: n.Now, Managed: n.Managed,
		Expires: n.Certificates(), Databases: databases.Databases, Report: func(found ...status.Finding) { n.Board.Report(Name, found...) }, Log: log,
	}).Specs()
}
