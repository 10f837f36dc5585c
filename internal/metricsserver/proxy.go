package metricsserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Endpoint is an address on which the metrics of another program are served.
type Endpoint struct {
	// Listen is the address to serve on, such as ":9102".
	Listen string
	// Upstream is the URL of the program's metrics on the loopback address of the host.
	Upstream string
}

// ParseEndpoint reads LISTEN=URL, a value of the flag --endpoint. An upstream that is not on the loopback address is refused: the
// connection to it is neither encrypted nor authenticated, so it must not leave the host.
func ParseEndpoint(text string) (Endpoint, error) {
	refuse := func(rule string) (Endpoint, error) {
		return Endpoint{}, fmt.Errorf("--endpoint %q %s; write for example :9102=http://127.0.0.1:29102/metrics", text, rule)
	}
	listen, upstream, ok := strings.Cut(text, "=")
	if !ok {
		return refuse("has no URL after an equals sign")
	}
	if _, port, err := net.SplitHostPort(listen); err != nil || port == "" {
		return refuse("does not begin with an address and a port to listen on")
	}
	u, err := url.Parse(upstream)
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return refuse("must end with an http URL of a host, a port and a path")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.IsLoopback() {
		return refuse("must have the URL of a loopback address, since the connection to it is not encrypted")
	}
	return Endpoint{Listen: listen, Upstream: upstream}, nil
}

// Proxy serves the metrics of another program.
type Proxy struct {
	// Upstream is the URL of its metrics.
	Upstream string
	// Only wraps a handler so that it serves authorized clients only.
	Only func(http.Handler) http.Handler
	Log  *slog.Logger
}

// forwarded are the request headers that affect the response to a scrape. Others, such as the token, are not forwarded.
var forwarded = []string{"Accept", "Accept-Encoding", "X-Prometheus-Scrape-Timeout-Seconds"}

// Handler serves /metrics, with status 502 while the program does not respond, and /healthz.
func (p Proxy) Handler() http.Handler {
	client := &http.Client{
		// Proxy variables of the environment must not redirect requests. Compressed bodies are copied unchanged.
		Transport:     &http.Transport{Proxy: nil, DisableCompression: true, MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       patience,
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.Only(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := p.pass(q.Context(), client, w, q.Header); err != nil && !errors.Is(err, context.Canceled) {
			p.Log.Warn("metrics cannot be read", "from", p.Upstream, "error", err)
		}
	})))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	return mux
}

// pass writes the metrics of the program. It sends a response before it returns an error. If the body ends early, it aborts the
// connection, so that the client does not accept an incomplete response.
func (p Proxy) pass(ctx context.Context, client *http.Client, w http.ResponseWriter, header http.Header) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Upstream, nil)
	if err != nil {
		http.Error(w, http.StatusText(http.StatusBadGateway), http.StatusBadGateway)
		return fmt.Errorf("create request: %w", err)
	}
	for _, name := range forwarded {
		if values := header.Values(name); len(values) > 0 {
			request.Header[name] = values
		}
	}
	response, err := client.Do(request)
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			err = fmt.Errorf("it answered %s", response.Status)
		}
	}
	if err != nil {
		http.Error(w, "the metrics of "+p.Upstream+" cannot be read", http.StatusBadGateway)
		return err
	}
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if value := response.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		p.Log.Warn("metrics cannot be copied", "from", p.Upstream, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}
