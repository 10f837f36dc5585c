package controller

import (
	"log/slog"
	"testing"
	"time"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/etcdnodes"
	"github.com/cluster-network-operator/cno/providers/flannel"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

const operatorNamespace = status.OperatorNamespace

// world is a cluster with flannel. How the managed etcd behaves is tested with package etcdmanager.
type world struct {
	*etcdnodes.World
	spec operatorv1.NetworkSpec
}

// newWorld returns a world that no other test acts in at the same time.
func newWorld(t *testing.T, config *operatorv1.FlannelConfig) *world {
	t.Helper()
	w := &world{World: etcdnodes.New(t, record.Etcd)}
	if config.Etcd == nil {
		config.Etcd = &operatorv1.FlannelEtcd{Managed: &operatorv1.FlannelManagedEtcd{ClientPort: &w.Ports[0], PeerPort: &w.Ports[1]}}
	}
	w.spec = operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel, FlannelConfig: config},
	}
	w.Render = w.render
	w.New = func() etcdnodes.Controller {
		return New(Deps{
			Client: w.API, Live: w.API, Namespace: operatorNamespace, Now: func() time.Time { return w.Now }, Timeout: time.Second,
			Report: func(f ...status.Finding) { w.Findings = f }, Log: slog.New(slog.NewTextHandler(w.T.Output(), nil)),
		})
	}
	w.Restart()
	return w
}

// render renders flannel as the operator does.
func (w *world) render() (objects []manifest.Object, waits bool) {
	w.T.Helper()
	spec := flannel.New().Default(&w.spec, nil, facts.Cluster{HostMTU: 1500})
	renderer, err := flannel.New().Observe(w.T.Context(), w.API, spec)
	if err != nil {
		w.T.Fatal(err)
	}
	out, err := renderer.Render(spec, facts.Cluster{Images: facts.Images{record.FlannelImage: "flannel:v1", record.EtcdImage: "etcd:v1"}})
	if err != nil {
		w.T.Fatal(err)
	}
	return out.Objects, out.Waiting != ""
}
