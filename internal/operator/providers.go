package operator

import (
	"time"

	"github.com/cluster-network-operator/cno/internal/status"
	flannel "github.com/cluster-network-operator/cno/providers/flannel/controller"
	flannelrecord "github.com/cluster-network-operator/cno/providers/flannel/record"
)

// providerLoops lists the loops that providers have of their own. Each provider has one entry, here and in
// providerNamespaces.
func providerLoops(s *shared) []loop {
	s.board.Await(flannel.Name)
	return []loop{
		{name: flannel.Name, setup: flannel.New(flannel.Deps{
			Client: s.withSecrets.GetClient(), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Namespace: s.Namespace, Now: time.Now,
			Report: func(found ...status.Finding) { s.board.Report(flannel.Name, found...) },
			Log:    s.Log.With("loop", flannel.Name),
		}).Setup, secrets: true},
	}
}

// providerNamespaces lists the namespaces whose ConfigMaps and Secrets providers read.
func providerNamespaces() []string { return []string{flannelrecord.Namespace} }
