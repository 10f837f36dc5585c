package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cluster-network-operator/cno/e2e/lab/pki"
)

// Base names of the files in the directory of certificates.
const (
	caName              = "ca"
	frontProxyCAName    = "front-proxy-ca"
	serviceAccountsName = "sa"
)

func saveCluster(dir string, c pki.Cluster) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store the certificates: %w", err)
	}
	for name, p := range map[string]pki.Pair{
		caName: c.CA.Pair, frontProxyCAName: c.FrontProxy.Pair, serviceAccountsName: c.ServiceAccounts,
	} {
		err := errors.Join(
			os.WriteFile(filepath.Join(dir, name+".crt"), p.Cert, 0o644),
			os.WriteFile(filepath.Join(dir, name+".key"), p.Key, 0o600))
		if err != nil {
			return fmt.Errorf("store the certificates: %w", err)
		}
	}
	return nil
}

func loadCluster(dir string) (pki.Cluster, error) {
	pairs := map[string]pki.Pair{}
	for _, name := range []string{caName, frontProxyCAName, serviceAccountsName} {
		cert, err := os.ReadFile(filepath.Join(dir, name+".crt"))
		if err != nil {
			return pki.Cluster{}, fmt.Errorf("read the certificates: %w", err)
		}
		key, err := os.ReadFile(filepath.Join(dir, name+".key"))
		if err != nil {
			return pki.Cluster{}, fmt.Errorf("read the certificates: %w", err)
		}
		pairs[name] = pki.Pair{Cert: cert, Key: key}
	}
	ca, err := pki.LoadCA(pairs[caName])
	if err != nil {
		return pki.Cluster{}, err
	}
	front, err := pki.LoadCA(pairs[frontProxyCAName])
	return pki.Cluster{CA: ca, FrontProxy: front, ServiceAccounts: pairs[serviceAccountsName]}, err
}
