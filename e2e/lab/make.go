package lab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/e2e/lab/cgroup"
	"github.com/cluster-network-operator/cno/e2e/lab/component"
	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
	"github.com/cluster-network-operator/cno/e2e/lab/underlay"
)

// Commands of the lab program that call machine.Init and underlay.Hold.
const (
	NodeCommand     = "node-process"
	UnderlayCommand = "underlay-process"
)

// makeUnderlay starts the underlay and writes the kubeconfig, whose server is the
// address that the underlay forwards.
func (l *Lab) makeUnderlay() error {
	groups, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	t := l.record.Topology
	spec := underlay.Spec{
		Family: t.Family, Links: t.Links, MTU: t.MTU, Port: topology.APIPort,
		Cgroup: l.branch(underlay.Name), Cgroups: groups,
	}
	for _, cp := range t.ControlPlanes() {
		spec.Servers = append(spec.Servers, netip.AddrPortFrom(cp.Primary(), topology.APIPort).String())
	}
	log := filepath.Join(l.logDir(underlay.Name), "underlay.log")
	p, server, err := underlay.Start(l.host.Program, []string{UnderlayCommand}, log, spec)
	if err != nil {
		return err
	}
	if err := p.Save(l.host.Layout.Process(underlay.Name)); err != nil {
		return err
	}
	l.record.Server = server
	if err := l.save(); err != nil {
		return err
	}
	return l.writeKubeconfig()
}

func (l *Lab) writeKubeconfig() error {
	cluster, err := loadCluster(l.host.Layout.PKI())
	if err != nil {
		return err
	}
	pair, err := cluster.CA.Issue(pki.AdminSubject(), l.host.Now())
	if err != nil {
		return err
	}
	data, err := config.Kubeconfig("https://"+l.record.Server, cluster.CA.Cert, pki.Admin, pair)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.Kubeconfig(), data, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// makeNode writes the disk of a node or an outside host, starts its first process and connects its
// cables. It keeps other files that exist on the disk.
func (l *Lab) makeNode(ctx context.Context, n topology.Node) error {
	holder, err := l.init(underlay.Name)
	if err != nil {
		return err
	}
	if err := l.format(n); err != nil {
		return err
	}
	if n.Role != topology.Outside {
		if err := l.prepareImages(ctx, n); err != nil {
			return err
		}
	}
	groups, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	logs := l.logDir(n.Name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return fmt.Errorf("create the log directory: %w", err)
	}
	p, err := machine.Start(ctx, machine.Spec{
		Name:     n.Name,
		Disk:     l.host.Layout.Disk(n.Name),
		Programs: l.programs(),
		LogDir:   logs,
		Cgroup:   l.branch(n.Name),
		Cgroups:  groups,
	}, machine.Launch{
		Program: l.host.Program, Args: []string{NodeCommand},
		Socket: l.host.Layout.Socket(n.Name), Log: filepath.Join(logs, "init.log"),
	})
	if p.PID != 0 {
		// Record the process also if it did not become ready, so that later commands find it.
		if err := p.Save(l.host.Layout.Process(n.Name)); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return underlay.Attach(holder.PID, p.PID, l.record.Topology, n)
}

func (l *Lab) format(n topology.Node) error {
	if n.Role == topology.Outside {
		return machine.Format(l.host.Layout.Disk(n.Name), config.OutsideFiles(n))
	}
	cluster, err := loadCluster(l.host.Layout.PKI())
	if err != nil {
		return err
	}
	pairs, err := cluster.Issue(l.record.Topology, n, l.host.Now())
	if err != nil {
		return err
	}
	files, err := config.Files(config.Node{
		Topology: l.record.Topology, Node: n, Cluster: cluster, Pairs: pairs, CgroupRoot: l.branch(n.Name),
	})
	if err != nil {
		return err
	}
	return machine.Format(l.host.Layout.Disk(n.Name), files)
}

// programs returns the paths of the binaries in the PATH of every node, by name.
func (l *Lab) programs() map[string]string {
	programs := map[string]string{}
	for _, name := range []string{
		config.Etcd, "etcdctl", config.APIServer, config.ControllerManager, config.Scheduler, config.Kubelet, config.KubeProxy,
		config.Containerd, "containerd-shim-runc-v2", "ctr", "kubectl",
	} {
		programs[name] = l.host.Layout.Program(name)
	}
	if version := l.record.Topology.Kubernetes; version != "" {
		for _, name := range component.ClusterPrograms() {
			programs[name] = filepath.Join(l.host.Layout.ProgramsOf(version), name)
		}
	}
	return programs
}

func (l *Lab) startUnit(ctx context.Context, n topology.Node, unit string) error {
	u, err := config.Unit(l.record.Topology, n, unit)
	if err != nil {
		return err
	}
	return l.supervisor(n.Name).Start(ctx, u)
}
