// Package config computes the files on the disk of a node and the units that run
// on it from the topology and the certificates.
package config

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// Directories of a node, at the same paths as with common installers.
const (
	kubernetesDir = "/etc/kubernetes"
	pkiDir        = "/etc/kubernetes/pki"
)

const (
	secret = 0o600
	public = 0o644
)

// Node is the input for the files of one node.
type Node struct {
	topology.Topology
	topology.Node
	Cluster pki.Cluster
	// Pairs are the node's own certificates, by the names of package pki.
	Pairs map[string]pki.Pair
	// CgroupRoot is the parent of the control groups of pods.
	CgroupRoot string
}

// Files returns the files of a node.
func Files(n Node) ([]machine.File, error) {
	files := append(identity(n), certificates(n)...)
	kubeconfigs, err := kubeconfigFiles(n)
	if err != nil {
		return nil, err
	}
	files = append(files, kubeconfigs...)
	kubelet, err := kubeletConfig(n)
	if err != nil {
		return nil, err
	}
	files = append(files,
		machine.File{Path: kubeletConfigPath, Mode: public, Data: kubelet},
		machine.File{Path: containerdConfigPath, Mode: public, Data: containerdConfig()},
	)
	if n.Role == topology.ControlPlane {
		files = append(files, machine.File{Path: auditPolicyPath, Mode: public, Data: auditPolicy()})
	}
	return files, nil
}

// OutsideFiles returns the files of an outside host. It reaches its link only, and has no name server.
func OutsideFiles(host topology.Node) []machine.File {
	return append(names(host.Name, host), machine.File{Path: "/etc/resolv.conf", Mode: public})
}

// identity returns the files with the name, addresses and name server of a node.
// The name server is the underlay, where nothing listens, so that lookups of names
// outside the cluster fail immediately.
func identity(n Node) []machine.File {
	resolv := fmt.Sprintf("nameserver %s\n", n.Family.Gateways()[0])
	return append(names(n.Name, n.Nodes...), machine.File{Path: "/etc/resolv.conf", Mode: public, Data: []byte(resolv)})
}

// names returns the files with the name of a machine, and with the addresses of those that it reaches.
func names(name string, reached ...topology.Node) []machine.File {
	hosts := bytes.NewBufferString("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	for _, n := range reached {
		for _, a := range n.Addresses {
			fmt.Fprintf(hosts, "%s %s\n", a, n.Name)
		}
	}
	return []machine.File{
		{Path: "/etc/hostname", Mode: public, Data: []byte(name + "\n")},
		{Path: "/etc/hosts", Mode: public, Data: hosts.Bytes()},
	}
}

func certificates(n Node) []machine.File {
	files := []machine.File{{Path: caFile, Mode: public, Data: n.Cluster.CA.Cert}}
	for name, p := range n.Pairs {
		files = append(files, pairFiles(name, p)...)
	}
	if n.Role != topology.ControlPlane {
		return files
	}
	files = append(files, pairFiles("sa", n.Cluster.ServiceAccounts)...)
	files = append(files, machine.File{Path: frontProxyCAFile, Mode: public, Data: n.Cluster.FrontProxy.Cert})
	// The controller manager signs certificates that pods and nodes request.
	return append(files, machine.File{Path: caKeyFile, Mode: secret, Data: n.Cluster.CA.Key})
}

func pairFiles(name string, p pki.Pair) []machine.File {
	return []machine.File{
		{Path: certFile(name), Mode: public, Data: p.Cert},
		{Path: keyFile(name), Mode: secret, Data: p.Key},
	}
}

const (
	caFile           = pkiDir + "/ca.crt"
	caKeyFile        = pkiDir + "/ca.key"
	frontProxyCAFile = pkiDir + "/front-proxy-ca.crt"
)

func certFile(name string) string { return filepath.Join(pkiDir, name+".crt") }

func keyFile(name string) string { return filepath.Join(pkiDir, name+".key") }
