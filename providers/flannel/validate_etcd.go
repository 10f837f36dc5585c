package flannel

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

var etcdPath = configPath.Child("etcd")

// etcdRules returns the rules for flannel's etcd.
func etcdRules() etcdcluster.Rules {
	return etcdcluster.Rules{
		Path: etcdPath, Owner: "flannel", Prefix: defaultPrefix, MetricsPort: record.Etcd.MetricsPort,
		Defaults: etcdcluster.ManagedFields{ClientPort: new(uint32(defaultClientPort)), PeerPort: new(uint32(defaultPeerPort)), DataDir: defaultDataDir},
		Ports:    map[uint32]string{healthPort: "flannel's agent", metricsproxy.FlanneldPort: "flannel's agent"},
	}
}

func validateEtcd(e *operatorv1.FlannelEtcd) field.ErrorList {
	if e == nil {
		return nil
	}
	var errs field.ErrorList
	if e.External != nil && e.Managed != nil {
		errs = append(errs, rules.EtcdOneOf.For("flannel").Forbidden(etcdPath))
	}
	errs = append(errs, etcdRules().KeyPrefix(e.Prefix)...)
	if e.External != nil {
		errs = append(errs, etcdRules().External(externalEtcd(e.External))...)
	}
	if e.Managed != nil {
		m := e.Managed
		errs = append(errs, etcdRules().Managed(etcdcluster.ManagedFields{ClientPort: m.ClientPort, PeerPort: m.PeerPort, DataDir: m.DataDir})...)
	}
	return errs
}

// externalEtcd returns the settings of an external etcd.
func externalEtcd(x *operatorv1.FlannelExternalEtcd) etcdcluster.External {
	return etcdcluster.External{Endpoints: x.Endpoints, CAConfigMap: x.CAConfigMap, ClientSecret: x.ClientCertificateSecret}
}
