package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/e2e/lab/activity"
	"github.com/cluster-network-operator/cno/e2e/lab/addon"
	"github.com/cluster-network-operator/cno/e2e/lab/config"
	"github.com/cluster-network-operator/cno/e2e/lab/pki"
	"github.com/cluster-network-operator/cno/e2e/lab/topology"
)

// pollInterval is the interval of polls. It is short compared to the start of a component, which takes seconds.
const pollInterval = 200 * time.Millisecond

// adminConfig is the path of the kubeconfig with cluster-admin permissions on a
// control-plane node.
const adminConfig = "/etc/kubernetes/admin.conf"

func (l *Lab) awaitAPI(ctx context.Context, n topology.Node) error {
	return poll(ctx, func() error {
		_, err := l.output(ctx, n.Name, "kubectl", "--kubeconfig", adminConfig, "get", "--raw", "/readyz")
		return err
	})
}

func (l *Lab) awaitCluster(ctx context.Context) error {
	return poll(ctx, func() error {
		_, err := l.Kubectl(ctx, nil, "get", "--raw", "/readyz")
		return err
	})
}

// applyAddons applies the add-ons. It retries until the API server has created
// its own namespaces.
func (l *Lab) applyAddons(ctx context.Context) error {
	cluster, err := loadCluster(l.host.Layout.PKI())
	if err != nil {
		return err
	}
	info, err := config.Kubeconfig(config.ServerURL(l.record.Topology.Endpoint()), cluster.CA.Cert, "", pki.Pair{})
	if err != nil {
		return err
	}
	objects, err := addon.Objects(l.record.Topology, info)
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		_, err := l.Kubectl(ctx, bytes.NewReader(objects), "apply", "--server-side", "--filename=-")
		return err
	})
}

// awaitAccounts waits until the controller manager has created the default
// service account of namespace default.
func (l *Lab) awaitAccounts(ctx context.Context) error {
	return poll(ctx, func() error {
		_, err := l.Kubectl(ctx, nil, "get", "serviceaccount", "default", "--namespace=default")
		return err
	})
}

// awaitNode waits until the node's kubelet has registered it, and sets the
// labels of its role, which a kubelet must not set itself.
func (l *Lab) awaitNode(ctx context.Context, n topology.Node) error {
	label := []string{"label", "node", n.Name, "--overwrite"}
	for _, role := range roles(n.Role) {
		label = append(label, "node-role.kubernetes.io/"+role+"=")
	}
	return poll(ctx, func() error {
		_, err := l.Kubectl(ctx, nil, label...)
		return err
	})
}

// roles returns the names of a node's role. The second one of a control plane is
// deprecated, but many selectors still use it.
func roles(r topology.Role) []string {
	if r == topology.ControlPlane {
		return []string{"control-plane", "master"}
	}
	return []string{"worker"}
}

// Kubectl runs kubectl with cluster-admin permissions and returns its output.
func (l *Lab) Kubectl(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	args = append([]string{"--kubeconfig", l.Kubeconfig()}, args...)
	cmd := exec.CommandContext(ctx, l.host.Layout.Program("kubectl"), args...)
	cmd.Stdin = stdin
	return outputOf(cmd, "kubectl "+args[2])
}

// outputOf runs a command and returns its standard output. An error contains its
// standard error.
func outputOf(cmd *exec.Cmd, what string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %s", what, err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// poll calls try until it succeeds. When the context is done, it returns the
// last error before that.
func poll(ctx context.Context, try func() error) error {
	last := errors.New("the time limit was reached before the first attempt")
	for {
		err := try()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
			activity.Note(ctx, err.Error())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last seen: %w)", context.Cause(ctx), last)
		case <-time.After(pollInterval):
		}
	}
}
