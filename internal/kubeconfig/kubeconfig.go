// Package kubeconfig finds the cluster of a command, as kubectl does: by the flags --kubeconfig, --context
// and --namespace, the variable KUBECONFIG, the file in the home directory and, in a pod, its service account.
package kubeconfig

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/status"
)

// Flags are the flags of the cluster. The zero value has the defaults.
type Flags struct {
	// File is a kubeconfig, Context the name of a context in it. Empty means the default of kubectl.
	File, Context string
	// Namespace is that of the operator, which keeps its records there.
	Namespace string
}

// Add adds the flags to those of a command.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.addCluster(flags)
	flags.StringVarP(&f.Namespace, "namespace", "n", status.OperatorNamespace, "namespace of the operator")
}

// AddForWorkloads adds the flags to those of a command for objects of users, which are in WorkloadNamespace.
func (f *Flags) AddForWorkloads(flags *pflag.FlagSet) {
	f.addCluster(flags)
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "namespace of the objects (default: that of the context)")
}

func (f *Flags) addCluster(flags *pflag.FlagSet) {
	flags.StringVar(&f.File, "kubeconfig", "", "the kubeconfig file to use (default: as kubectl)")
	flags.StringVar(&f.Context, "context", "", "name of the context in the kubeconfig (default: the current one)")
}

// WorkloadNamespace returns the namespace of the command line, or that of the context.
func (f *Flags) WorkloadNamespace() (string, error) {
	if f.Namespace != "" {
		return f.Namespace, nil
	}
	namespace, _, err := f.loader().Namespace()
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	return namespace, nil
}

func (f *Flags) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.File
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
}

// Config returns the client configuration. The error has the remedy if no cluster is configured.
func (f *Flags) Config() (*rest.Config, error) {
	config, err := f.loader().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no cluster is named: give --kubeconfig, or set KUBECONFIG: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return config, nil
}

// Names reports whether a cluster is configured by a flag, the environment, a file, or the service account of the pod.
func (f *Flags) Names() bool {
	_, err := f.loader().ClientConfig()
	return !clientcmd.IsEmptyConfig(err)
}
