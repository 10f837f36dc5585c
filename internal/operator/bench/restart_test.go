package bench

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/operator"
	"github.com/cluster-network-operator/cno/internal/testing/goroutines"
)

// restartRequests is how many requests a restart makes on a settled cluster besides those for the lease. docs/benchmarks.md lists them.
const restartRequests = 47

// TestARestartMakesNoMoreRequestsThanDocumented restarts the operator in a cluster whose network is installed, with the permissions of config/rbac.
func TestARestartMakesNoMoreRequestsThanDocumented(t *testing.T) {
	goroutines.DumpAfter(t, 5*time.Minute)
	c := newCluster(t, 3)
	if err := c.Client.Create(t.Context(), c.newNetwork()); err != nil {
		t.Fatal(err)
	}
	stop, begin := c.runHere(t), time.Now()
	c.settled(t)
	c.quiet(t, begin)
	stop()
	begin = time.Now()
	stop = c.runHere(t)
	eventually(t, "the operands are watched", 100*time.Millisecond, func() bool { return c.since(t, begin).has("/namespaces/openshift-kube-proxy/daemonsets?") })
	made := c.quiet(t, begin)
	stop()
	made.show(t) // printed if it fails, and with -v
	if made.total() > restartRequests || made.writes > 0 {
		t.Errorf("a restart makes %d requests, %d of them writes; at most %d and none are documented", made.total(), made.writes, restartRequests)
	}
}

// has reports whether there is a request whose path and query contain a text.
func (r requests) has(text string) bool {
	for _, one := range r.list {
		if strings.Contains(one.URI, text) {
			return true
		}
	}
	return false
}

// runHere runs the operator in this process as its program does, until stop is called.
func (c *cluster) runHere(t testing.TB) (stop func()) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	at, err := operator.FindAPIServer(t.Context(), config, []facts.HostPort{hostPort(t, config)}, log)
	if err != nil {
		t.Fatal(err)
	}
	images := facts.Images{}
	for _, name := range imageVariables {
		images[name] = benchImage
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Options{
			Config: operator.At(config, at), Namespace: namespace, Registry: networks.Registry(), Identity: "bench", Level: new(slog.LevelVar), Log: log,
			Facts:           facts.Cluster{Platform: "None", APIServer: at, Images: images, ReleaseVersion: release},
			ChooseAPIServer: func(ctx context.Context) facts.HostPort { return operator.Remembered(ctx, config, namespace, at, log) },
		})
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	}
}

func hostPort(t testing.TB, config *rest.Config) facts.HostPort {
	t.Helper()
	at, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	return facts.HostPort{Host: at.Hostname(), Port: port}
}
