// Package podexec runs commands in containers of pods through the API server, as kubectl exec does.
package podexec

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/provider"
)

// Runner runs commands in pods.
type Runner struct {
	// Config is the client configuration, Objects lists pods.
	Config  *rest.Config
	Objects client.Reader
}

// Run runs a command in the pod that it selects, and returns its standard output. The error of a failed command contains its standard
// error.
func (r Runner) Run(ctx context.Context, c provider.TraceCommand) (string, error) {
	pod, err := r.pod(ctx, c)
	if err != nil {
		return "", err
	}
	out, err := r.exec(ctx, pod, c)
	if err != nil {
		return "", fmt.Errorf("run %s in container %s of pod %s/%s: %w", c.Command[0], c.Container, c.Namespace, pod, err)
	}
	return out, nil
}

// pod returns the name of the running pod of an operand on a node.
func (r Runner) pod(ctx context.Context, c provider.TraceCommand) (string, error) {
	var pods corev1.PodList
	if err := r.Objects.List(ctx, &pods, client.InNamespace(c.Namespace), client.MatchingLabels{"app": c.App}); err != nil {
		return "", fmt.Errorf("list the pods of %s/%s: %w", c.Namespace, c.App, err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName == c.Node && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			return p.Name, nil
		}
	}
	return "", fmt.Errorf("no pod of %s/%s runs on node %s", c.Namespace, c.App, c.Node)
}

func (r Runner) exec(ctx context.Context, pod string, c provider.TraceCommand) (string, error) {
	config := rest.CopyConfig(r.Config)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, "/api", scheme.Codecs.WithoutConversion()
	core, err := rest.RESTClientFor(config)
	if err != nil {
		return "", err
	}
	target := core.Post().Resource("pods").Namespace(c.Namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: c.Container, Command: c.Command, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := executorFor(config, target)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}); err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return "", fmt.Errorf("%w: %s", err, text)
		}
		return "", err
	}
	return stdout.String(), nil
}

// executorFor uses WebSockets, and SPDY if the server or a proxy does not support them.
func executorFor(config *rest.Config, target *url.URL) (remotecommand.Executor, error) {
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", target)
	if err != nil {
		return nil, err
	}
	sockets, err := remotecommand.NewWebSocketExecutor(config, "GET", target.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(sockets, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}
