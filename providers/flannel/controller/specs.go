package controller

import (
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// metricNames are the metrics of flannel's managed etcd.
var metricNames = etcdmanager.MetricNames{
	Size:    "cluster_network_operator_flannel_etcd_database_bytes",
	InUse:   "cluster_network_operator_flannel_etcd_database_in_use_bytes",
	NoSpace: "cluster_network_operator_flannel_etcd_no_space",
}

// Specs returns the specifications of flannel's controllers.
func Specs(n loop.Network) []loop.Spec {
	n.Board.Await(Name)
	log := n.Log.With("controller", Name)
	databases, err := etcdmanager.NewMetrics(record.Etcd, metricNames, n.Metrics)
	if err != nil {
		log.Error("register the metrics of flannel's etcd", "error", err)
	}
	return New(Deps{
		Client: n.Client, Nodes: n.Nodes, Live: n.Live, Namespace: n.Namespace, Now: n.Now, Managed: n.Managed,
		Expires: n.Certificates(), Databases: databases.Databases, Report: func(found ...status.Finding) { n.Board.Report(Name, found...) }, Log: log,
	}).Specs()
}
