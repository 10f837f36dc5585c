package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/facts"
)

const (
	// defaultAPIServerPort is the port of API servers on control-plane nodes.
	defaultAPIServerPort = 6443
	// probeTimeout is the timeout of the probe of one address.
	probeTimeout = 3 * time.Second
	// lastWait is the maximum pause between two attempts to find an API server, so that the operator works soon after it is
	// reachable again.
	lastWait = 2 * time.Second
)

// Surroundings are the values from which the API server's address can be derived. All of them may be empty.
type Surroundings struct {
	// OverrideHost and OverridePort are the address that an administrator has configured.
	OverrideHost, OverridePort string
	// URLFile is the content of /etc/kubernetes/apiserver-url.env, which OpenShift's nodes have.
	URLFile string
	// HostIP is the address of the node that the operator runs on.
	HostIP string
	// ServiceHost and ServicePort are those of the Service kubernetes, which may not work before there is a network.
	ServiceHost, ServicePort string
}

// Candidates returns the possible addresses of the API server, the best first, without duplicates. It skips values
// that are no address.
func (s Surroundings) Candidates() []facts.HostPort {
	file := parseEnvFile(s.URLFile)
	var found []facts.HostPort
	for _, c := range [][2]string{
		{s.OverrideHost, s.OverridePort},
		{file["KUBERNETES_SERVICE_HOST"], file["KUBERNETES_SERVICE_PORT"]},
		{s.HostIP, ""},
		{s.ServiceHost, s.ServicePort},
	} {
		hp, ok := hostPort(c[0], c[1])
		if ok && !contains(found, hp) {
			found = append(found, hp)
		}
	}
	return found
}

func contains(list []facts.HostPort, hp facts.HostPort) bool {
	for _, existing := range list {
		if existing == hp {
			return true
		}
	}
	return false
}

func hostPort(host, port string) (facts.HostPort, bool) {
	if host == "" {
		return facts.HostPort{}, false
	}
	hp := facts.HostPort{Host: strings.Trim(host, "[]"), Port: defaultAPIServerPort}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return facts.HostPort{}, false
		}
		hp.Port = n
	}
	return hp, true
}

// parseEnvFile reads lines of the form KEY=value, export and quotes allowed.
func parseEnvFile(content string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(content) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			values[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return values
}

// FindAPIServer tries the candidates in order, repeatedly, until one answers with a certificate that the configuration
// trusts, and returns it. It fails only when the context ends.
func FindAPIServer(ctx context.Context, config *rest.Config, candidates []facts.HostPort, log *slog.Logger) (facts.HostPort, error) {
	if len(candidates) == 0 {
		return facts.HostPort{}, errors.New("find API server: no address is known; set APISERVER_OVERRIDE_HOST, or HOST_IP by the downward API")
	}
	wait := time.Second
	for {
		var errs []error
		for _, c := range candidates {
			err := probeAPIServer(ctx, config, c)
			if err == nil {
				return c, nil
			}
			errs = append(errs, err)
		}
		log.Warn("no API server answers yet", "error", errors.Join(errs...))
		select {
		case <-ctx.Done():
			return facts.HostPort{}, fmt.Errorf("find API server: %w", errors.Join(errs...))
		case <-time.After(wait):
			wait = min(2*wait, lastWait)
		}
	}
}

// probeAPIServer requests the version of the server at one address.
func probeAPIServer(ctx context.Context, config *rest.Config, at facts.HostPort) error {
	probe := At(config, at)
	probe.Timeout = probeTimeout
	client, err := rest.HTTPClientFor(probe)
	if err != nil {
		return fmt.Errorf("create client for %s: %w", probe.Host, err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, probe.Host+"/version", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)); err != nil {
		return fmt.Errorf("read version of %s: %w", probe.Host, err)
	}
	// The server has presented a trusted certificate; the request may be unauthorized.
	if response.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s answers %s", probe.Host, response.Status)
	}
	return nil
}

// At returns a copy of a configuration for another address of the same API server.
func At(config *rest.Config, at facts.HostPort) *rest.Config {
	moved := rest.CopyConfig(config)
	moved.Host = (&url.URL{Scheme: "https", Host: net.JoinHostPort(at.Host, strconv.Itoa(at.Port))}).String()
	return moved
}
