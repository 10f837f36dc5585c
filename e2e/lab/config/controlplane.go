package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/supervisor"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// Names of the units of a control-plane node.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

const (
	etcdClientPort = 2379
	etcdPeerPort   = 2380

	auditPolicyPath = kubernetesDir + "/audit-policy.yaml"
	// AuditLog is the file name of the API server's audit log in a node's log directory.
	AuditLog = "audit.log"
	// auditLogSize is in megabytes. Tests count the lines of the log, so it
	// should not be rotated during the life of a lab.
	auditLogSize = 2048
)

func auditPolicy() []byte {
	return []byte(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`)
}

func etcdUnit(n Node) supervisor.Unit {
	local := netip.AddrPortFrom(n.Family.Loopback(), etcdClientPort)
	client := netip.AddrPortFrom(n.Primary(), etcdClientPort)
	peer := netip.AddrPortFrom(n.Primary(), etcdPeerPort)
	var members []string
	for _, cp := range n.ControlPlanes() {
		members = append(members, fmt.Sprintf("%s=https://%s", cp.Name, netip.AddrPortFrom(cp.Primary(), etcdPeerPort)))
	}
	return unit(Etcd,
		"--name="+n.Name,
		"--data-dir=/var/lib/etcd",
		fmt.Sprintf("--listen-client-urls=https://%s,https://%s", local, client),
		fmt.Sprintf("--advertise-client-urls=https://%s", client),
		fmt.Sprintf("--listen-peer-urls=https://%s", peer),
		fmt.Sprintf("--initial-advertise-peer-urls=https://%s", peer),
		"--initial-cluster="+strings.Join(members, ","),
		"--client-cert-auth",
		"--peer-client-cert-auth",
		"--trusted-ca-file="+caFile,
		"--peer-trusted-ca-file="+caFile,
		"--cert-file="+certFile(pki.Etcd),
		"--key-file="+keyFile(pki.Etcd),
		"--peer-cert-file="+certFile(pki.Etcd),
		"--peer-key-file="+keyFile(pki.Etcd),
		// Writes survive the end of the process; they are lost only with the
		// machine, and the lab with them.
		"--unsafe-no-fsync",
	)
}

func apiServerUnit(n Node) supervisor.Unit {
	return unit(APIServer,
		"--advertise-address="+n.Primary().String(),
		"--bind-address="+n.Family.Unspecified().String(),
		fmt.Sprintf("--secure-port=%d", topology.APIPort),
		"--allow-privileged",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--etcd-servers=https://"+netip.AddrPortFrom(n.Family.Loopback(), etcdClientPort).String(),
		"--etcd-cafile="+caFile,
		"--etcd-certfile="+certFile(pki.Etcd),
		"--etcd-keyfile="+keyFile(pki.Etcd),
		"--service-cluster-ip-range="+n.services(),
		"--client-ca-file="+caFile,
		"--tls-cert-file="+certFile(pki.APIServer),
		"--tls-private-key-file="+keyFile(pki.APIServer),
		"--kubelet-certificate-authority="+caFile,
		"--kubelet-client-certificate="+certFile(pki.KubeletClient),
		"--kubelet-client-key="+keyFile(pki.KubeletClient),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc."+clusterDomain,
		"--service-account-key-file="+certFile("sa"),
		"--service-account-signing-key-file="+keyFile("sa"),
		"--requestheader-client-ca-file="+frontProxyCAFile,
		"--requestheader-allowed-names="+pki.FrontProxyClient,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file="+certFile(pki.FrontProxyClient),
		"--proxy-client-key-file="+keyFile(pki.FrontProxyClient),
		"--audit-policy-file="+auditPolicyPath,
		"--audit-log-path="+machine.Logs+"/"+AuditLog,
		fmt.Sprintf("--audit-log-maxsize=%d", auditLogSize),
	)
}

func controllerManagerUnit(n Node) supervisor.Unit {
	kubeconfig := kubernetesDir + "/controller-manager.conf"
	return unit(ControllerManager,
		"--bind-address="+n.Family.Loopback().String(),
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		// The network assigns pod addresses to nodes.
		"--allocate-node-cidrs=false",
		"--service-cluster-ip-range="+n.services(),
		"--use-service-account-credentials",
		"--service-account-private-key-file="+keyFile("sa"),
		"--root-ca-file="+caFile,
		"--client-ca-file="+caFile,
		"--cluster-signing-cert-file="+caFile,
		"--cluster-signing-key-file="+caKeyFile,
		"--requestheader-client-ca-file="+frontProxyCAFile,
		n.leaderElection(),
	)
}

func schedulerUnit(n Node) supervisor.Unit {
	kubeconfig := kubernetesDir + "/scheduler.conf"
	return unit(Scheduler,
		"--bind-address="+n.Family.Loopback().String(),
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		n.leaderElection(),
	)
}

// leaderElection enables leader election only with several control planes: with
// one, it would delay every restart by the duration of a lease.
func (n Node) leaderElection() string {
	return fmt.Sprintf("--leader-elect=%t", len(n.ControlPlanes()) > 1)
}

func (n Node) services() string {
	var list []string
	for _, p := range n.ServiceNetwork {
		list = append(list, p.String())
	}
	return strings.Join(list, ",")
}
