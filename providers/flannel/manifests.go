package flannel

import (
	"embed"
	"fmt"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

//go:embed assets
var assets embed.FS

// Render returns the objects of a defaulted specification. On a new cluster it omits the agents until the operator's controller has chosen the members of the
// managed etcd and created the agents' certificates.
func (o observed) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	etcd, err := etcdSettings(settings(spec).Etcd, f)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render flannel: %w", err)
	}
	image, err := f.Images.Get(record.FlannelImage, "flannel's agents")
	if err != nil {
		return provider.Output{}, fmt.Errorf("render flannel: %w", err)
	}
	if o.offline && etcd.Managed != nil {
		o.members = etcdcluster.Bootstrap(candidates(f.ControlPlane), *etcd.Managed, "offline")
	}
	config, err := agentConfig(spec, etcd, o.members)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render flannel: %w", err)
	}
	etcd.Migration = o.migrate(spec, &config, f.MTUMigration)
	if err := o.checkMTU(config, f); err != nil {
		return provider.Output{}, fmt.Errorf("render flannel: %w", err)
	}
	list := manifest.List{Assets: assets}
	addFoundation(&list, etcd, config)
	if etcd.Managed != nil {
		list.Append(record.Etcd.Objects(o.members, dataDirectory(spec)))
	}
	waiting := o.waiting(etcd)
	if waiting == "" {
		addAgents(&list, image, agentLevel(spec.LogLevel), config, f.APIServer)
		addMetrics(&list, etcd, config, f)
		if etcd.Managed != nil {
			addSnapshots(&list, o.members, dataDirectory(spec), f)
		}
	}
	objects, err := list.Result()
	if err != nil {
		return provider.Output{}, fmt.Errorf("render flannel: %w", err)
	}
	return provider.Output{Objects: objects, MTU: config.MTU, Waiting: waiting}, nil
}

// waiting returns a sentence on what the agents wait for; empty if they can start.
func (o observed) waiting(etcd record.Settings) string {
	switch {
	case o.offline:
		return ""
	case etcd.Managed != nil && len(o.members.Members) == 0:
		return "flannel waits for the operator to choose the control-plane nodes that run its etcd"
	case etcd.Encrypted() && o.members.ClientTrust == "":
		return "flannel waits for the certificates with which its agents reach etcd"
	}
	return ""
}

// checkMTU rejects an MTU that the nodes' links do not support before the network is installed with it. Later, a node with a smaller MTU is reported in the
// conditions instead, so that the other nodes are still repaired.
func (o observed) checkMTU(c agentconfig.Config, f facts.Cluster) error {
	extra, link := overhead(operatorv1.FlannelBackend(c.Backend.Type)), f.LinkMTU()
	if link == 0 || c.MTU+extra <= link || o.current != nil && c.MTU == o.current.MTU {
		return nil
	}
	return fmt.Errorf("%s: %d needs links of at least %d (%s adds %d), and a node has one of %d; use %d or less, or leave it out",
		configPath.Child("mtu"), c.MTU, c.MTU+extra, c.Backend.Type, extra, link, link-extra)
}

func candidates(nodes []facts.Node) []etcdcluster.Candidate {
	var out []etcdcluster.Candidate
	for _, n := range nodes {
		if len(n.Addresses) > 0 {
			out = append(out, etcdcluster.Candidate{Name: n.Name, UID: n.UID, Address: n.Addresses[0]})
		}
	}
	return out
}
