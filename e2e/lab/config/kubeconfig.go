package config

import (
	"fmt"
	"net/netip"
	"path/filepath"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/e2e/lab/machine"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// clusterName is the name of the cluster in kubeconfigs.
const clusterName = "cno-lab"

// Kubeconfig returns a self-contained kubeconfig. If the pair is empty, it has the
// cluster but no user.
func Kubeconfig(server string, ca []byte, user string, p pki.Pair) ([]byte, error) {
	c := clientcmdv1.Config{
		APIVersion:     "v1",
		Kind:           "Config",
		CurrentContext: clusterName,
		Clusters: []clientcmdv1.NamedCluster{{Name: clusterName, Cluster: clientcmdv1.Cluster{
			Server: server, CertificateAuthorityData: ca,
		}}},
		Contexts: []clientcmdv1.NamedContext{{Name: clusterName, Context: clientcmdv1.Context{
			Cluster: clusterName, AuthInfo: user,
		}}},
	}
	if len(p.Cert) > 0 {
		c.AuthInfos = []clientcmdv1.NamedAuthInfo{{Name: user, AuthInfo: clientcmdv1.AuthInfo{
			ClientCertificateData: p.Cert, ClientKeyData: p.Key,
		}}}
	}
	out, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %s: %w", user, err)
	}
	return out, nil
}

// kubeconfigFiles are named as kubeadm names them.
func kubeconfigFiles(n Node) ([]machine.File, error) {
	var files []machine.File
	for name, file := range map[string]string{
		pki.Kubelet:           "kubelet.conf",
		pki.KubeProxy:         "kube-proxy.conf",
		pki.Admin:             "admin.conf",
		pki.ControllerManager: "controller-manager.conf",
		pki.Scheduler:         "scheduler.conf",
	} {
		p, ok := n.Pairs[name]
		if !ok {
			continue
		}
		data, err := Kubeconfig(n.server(), n.Cluster.CA.Cert, name, p)
		if err != nil {
			return nil, err
		}
		files = append(files, machine.File{Path: filepath.Join(kubernetesDir, file), Mode: secret, Data: data})
	}
	return files, nil
}

// server returns the URL of the API server for the node's own programs: the local
// one, if there is one.
func (n Node) server() string {
	if n.Role == topology.ControlPlane {
		return ServerURL(netip.AddrPortFrom(n.Primary(), topology.APIPort))
	}
	return ServerURL(n.Endpoint())
}

// ServerURL returns the URL of the API server at an address.
func ServerURL(a netip.AddrPort) string { return "https://" + a.String() }
