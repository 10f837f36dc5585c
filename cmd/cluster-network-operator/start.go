package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/controller/proxyconfig"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/host/residency"
	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/operator"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/version"
)

const (
	// urlFile is the file with the API server's address on OpenShift's nodes.
	urlFile = "/etc/kubernetes/apiserver-url.env"
	// keepConntrackVariable is the environment variable that is true where nodes are network namespaces of one machine.
	keepConntrackVariable = "KUBE_PROXY_KEEP_CONNTRACK_MAX"
	// serviceAccountNamespace is the file with the pod's namespace, which every pod with a service account has.
	serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// The garbage collector's settings. GOGC replaces the first. Memory is kept below the second, which is what the operator requests, also
// while thousands of nodes are read in; when what is in use does not fit any more the limit follows it, up to GOMEMLIMIT, so that the
// collector never takes the processor for a limit that cannot be kept.
const (
	gcPercent    = 40
	lowestMemory = 40 << 20
)

// flags are the flags of the command start.
type flags struct {
	kubeconfig, namespace, metrics, health string
	systemTrust                            []string
	withoutLease                           bool
}

func start() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "start", Short: "Run the operator", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runOperator(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "a kubeconfig file; without one, the pod's service account is used")
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "the namespace in which the operator keeps its records (default: that of the pod, or "+status.OperatorNamespace+")")
	cmd.Flags().StringVar(&f.metrics, "metrics-address", ":9104", "where to serve metrics; empty to disable")
	cmd.Flags().StringVar(&f.health, "health-address", "127.0.0.1:9105", "where to serve /healthz and /readyz; empty to disable")
	cmd.Flags().StringSliceVar(&f.systemTrust, "system-trust", nil, "files with the CA certificates that the system trusts; the first that contains some is used (default: the paths that distributions use)")
	cmd.Flags().BoolVar(&f.withoutLease, "without-lease", false, "run without waiting for the lease; never use this where another instance may run")
	return cmd
}

func runOperator(ctx context.Context, f flags) error {
	level := new(slog.LevelVar)
	log := logging.Setup(os.Stderr, level)
	slog.SetDefault(log)
	go keepSmall(ctx, limitMemory(), log)
	operands, err := images(os.Environ())
	if err != nil {
		return err
	}
	keepConntrack, err := keepConntrackMax(os.Getenv(keepConntrackVariable))
	if err != nil {
		return err
	}
	config, around, err := surroundings(f.kubeconfig)
	if err != nil {
		return err
	}
	at, err := operator.FindAPIServer(ctx, config, around.Candidates(), log)
	if err != nil {
		return err
	}
	namespace := cmp.Or(f.namespace, podNamespace(), status.OperatorNamespace)
	var choose func(context.Context) facts.HostPort
	if !around.Chosen(at) {
		choose = func(ctx context.Context) facts.HostPort { return operator.Remembered(ctx, config, namespace, at, log) }
	}
	release := cmp.Or(os.Getenv("RELEASE_VERSION"), version.String())
	log.Info("starting", "version", release, "apiserver", at.Host, "port", at.Port)
	return operator.Run(ctx, operator.Options{
		Config:    operator.At(config, at),
		Namespace: namespace,
		Registry:  networks.Registry(),
		Facts: facts.Cluster{
			Platform: "None", APIServer: at, Images: operands, ReleaseVersion: release, KeepConntrackMax: keepConntrack,
		},
		ChooseAPIServer: choose,
		Proxy: proxyconfig.Settings{
			TrustFiles: f.systemTrust, HostedControlPlane: os.Getenv("HYPERSHIFT") != "",
			ProxyInternalAPIServer: os.Getenv("PROXY_INTERNAL_APISERVER_ADDRESS") == "true",
		},
		MetricsAddress: f.metrics,
		HealthAddress:  f.health,
		Identity:       os.Getenv("POD_NAME"),
		WithoutLease:   f.withoutLease,
		Level:          level,
		Log:            log,
	})
}

// surroundings reads from files and the environment how to reach the API server.
func surroundings(kubeconfig string) (*rest.Config, operator.Surroundings, error) {
	around := operator.Surroundings{OverrideHost: os.Getenv("APISERVER_OVERRIDE_HOST"), OverridePort: os.Getenv("APISERVER_OVERRIDE_PORT")}
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, around, fmt.Errorf("read kubeconfig: %w", err)
		}
		at, err := url.Parse(config.Host)
		if err != nil {
			return nil, around, fmt.Errorf("read kubeconfig: %w", err)
		}
		around.ServiceHost, around.ServicePort = at.Hostname(), cmp.Or(at.Port(), "443")
		return config, around, nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, around, fmt.Errorf("read the pod's service account: %w", err)
	}
	file, err := os.ReadFile(urlFile)
	if err != nil && !os.IsNotExist(err) {
		return nil, around, fmt.Errorf("read address of API server: %w", err)
	}
	around.URLFile, around.HostIP = string(file), os.Getenv("HOST_IP")
	around.ServiceHost, around.ServicePort = os.Getenv(facts.ServiceHostVariable), os.Getenv(facts.ServicePortVariable)
	return config, around, nil
}

// images returns the images from environment variables, in the registry that another variable names.
func images(environ []string) (facts.Images, error) {
	found, registry := facts.Images{}, ""
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case ok && name == facts.RegistryVariable:
			registry = value
		case ok && strings.HasSuffix(name, "_IMAGE"):
			found[name] = value
		}
	}
	return found.In(registry)
}

// keepConntrackMax reads the value of keepConntrackVariable; an empty one is false.
func keepConntrackMax(value string) (bool, error) {
	switch value {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("environment variable %s: %q is neither true nor false; "+
		"remove it to have kube-proxy size the connection-tracking tables of nodes", keepConntrackVariable, value)
}

// podNamespace returns the pod's namespace, or an empty string outside of a pod.
func podNamespace() string {
	content, err := os.ReadFile(serviceAccountNamespace)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// keepSmall releases memory to the kernel: often during startup, which needs the most memory, and later whenever the resident size
// is large. It adapts the garbage collector's memory limit to the live heap.
func keepSmall(ctx context.Context, highest int64, log *slog.Logger) {
	const start, often, seldom, large = 5 * time.Second, 250 * time.Millisecond, 30 * time.Second, 45 << 20
	begin := time.Now()
	release := true
	for wait := time.Duration(0); ; wait = often {
		starting := time.Since(begin) < start
		if !starting {
			wait = seldom
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		debug.SetMemoryLimit(residency.Limit(residency.Live(), lowestMemory, highest))
		if !release {
			continue
		}
		size, err := residency.Resident()
		if err == nil && (starting || size > large) {
			err = residency.Release()
		}
		if err != nil {
			log.Debug("memory cannot be released", "error", err)
			release = false
		}
	}
}

// limitMemory configures the garbage collector, and returns the highest memory limit, GOMEMLIMIT.
func limitMemory() int64 {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	highest := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(lowestMemory, highest))
	return highest
}
