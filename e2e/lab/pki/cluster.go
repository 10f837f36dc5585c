package pki

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// Cluster has the CAs and keys that all nodes of a cluster trust.
type Cluster struct {
	// CA signs every server and client of the cluster, FrontProxy the API
	// server when it calls an aggregated API server on a user's behalf.
	CA, FrontProxy *CA
	// ServiceAccounts signs tokens; Cert holds the public key.
	ServiceAccounts Pair
}

// NewCluster creates the CAs of a cluster.
func NewCluster(now time.Time) (Cluster, error) {
	ca, err := NewCA("kubernetes", now)
	if err != nil {
		return Cluster{}, err
	}
	front, err := NewCA("front-proxy", now)
	if err != nil {
		return Cluster{}, err
	}
	keys, err := NewKey()
	if err != nil {
		return Cluster{}, err
	}
	return Cluster{CA: ca, FrontProxy: front, ServiceAccounts: keys}, nil
}

// Names of the pairs a node holds; files and kubeconfigs are named after them.
const (
	Kubelet           = "kubelet"
	KubeProxy         = "kube-proxy"
	Admin             = "admin"
	APIServer         = "apiserver"
	KubeletClient     = "apiserver-kubelet-client"
	FrontProxyClient  = "front-proxy-client"
	Etcd              = "etcd"
	ControllerManager = "controller-manager"
	Scheduler         = "scheduler"
)

// masters is the built-in group with all permissions.
const masters = "system:masters"

// Issue issues all pairs of a node of the topology, by name.
func (c Cluster) Issue(t topology.Topology, n topology.Node, now time.Time) (map[string]Pair, error) {
	pairs := map[string]Pair{}
	for name, s := range Subjects(t, n) {
		signer := c.CA
		if name == FrontProxyClient {
			signer = c.FrontProxy
		}
		p, err := signer.Issue(s, now)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
		pairs[name] = p
	}
	return pairs, nil
}

// Subjects returns the subjects of a node's certificates, by name of the pair.
func Subjects(t topology.Topology, n topology.Node) map[string]Subject {
	subjects := map[string]Subject{
		Kubelet: {
			CommonName:    "system:node:" + n.Name,
			Organizations: []string{"system:nodes"},
			DNSNames:      []string{n.Name},
			Addresses:     n.Addresses,
		},
		KubeProxy: {CommonName: "system:kube-proxy"},
	}
	if n.Role != topology.ControlPlane {
		return subjects
	}
	local := append([]netip.Addr{topology.IPv4.Loopback(), topology.IPv6.Loopback()}, n.Addresses...)
	subjects[Admin] = AdminSubject()
	subjects[APIServer] = Subject{
		CommonName: "kube-apiserver",
		DNSNames: []string{
			n.Name, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		},
		Addresses: slices.Concat(t.APIService(), t.Family.Gateways(), local),
	}
	subjects[Etcd] = Subject{CommonName: n.Name, DNSNames: []string{n.Name, "localhost"}, Addresses: local}
	subjects[KubeletClient] = Subject{CommonName: "kube-apiserver-kubelet-client", Organizations: []string{masters}}
	subjects[FrontProxyClient] = Subject{CommonName: FrontProxyClient}
	subjects[ControllerManager] = Subject{CommonName: "system:kube-controller-manager"}
	subjects[Scheduler] = Subject{CommonName: "system:kube-scheduler"}
	return subjects
}

// AdminSubject returns the subject of the user with all permissions.
func AdminSubject() Subject {
	return Subject{CommonName: "kubernetes-admin", Organizations: []string{masters}}
}
