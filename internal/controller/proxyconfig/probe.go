package proxyconfig

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/cluster-network-operator/cno/internal/noproxy"
)

// rootsOf returns a pool of the CAs in a PEM text, which may be empty.
func rootsOf(pem string) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(pem))
	return pool
}

// probe requests an endpoint until it succeeds, at most p.tries times. It returns the problem of the last try; empty on success.
func (p *prober) probe(ctx context.Context, roots *x509.CertPool, e endpointOf) string {
	proxyURL, err := url.Parse(e.proxy)
	if err != nil {
		return "the proxy's URL is invalid"
	}
	transport := &http.Transport{
		Proxy:             http.ProxyURL(proxyURL),
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	httpClient := &http.Client{
		Transport: transport, Timeout: p.timeout,
		// A redirect counts as success.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var last string
	for try := range p.tries {
		if try > 0 && !sleep(ctx, p.pause) {
			break
		}
		if last = p.get(ctx, httpClient, e); last == "" {
			return ""
		}
	}
	return fmt.Sprintf("probe of %s via %s failed: %s (%d tries)", noproxy.Redact(e.url), noproxy.Redact(e.proxy), last, p.tries)
}

// get sends one request.
func (p *prober) get(ctx context.Context, httpClient *http.Client, e endpointOf) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return "the endpoint's URL is invalid"
	}
	request.Header.Set("User-Agent", "cluster-network-operator")
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }, ConnectDone: func(_, _ string, err error) { connected.Store(err == nil) }}
	response, err := httpClient.Do(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return noproxy.Scrub(p.describe(err, connected.Load()), e.proxy, e.url)
	}
	_ = response.Body.Close()
	switch code := response.StatusCode; {
	case code >= 200 && code < 400:
		return ""
	case code == http.StatusProxyAuthRequired:
		return "the proxy requires valid credentials (407); set user name and password in its URL"
	default:
		return fmt.Sprintf("the endpoint returned %s", response.Status)
	}
}

// describe describes an error without the URL, which may contain a password. connected reports whether the connection to the proxy was
// established.
func (p *prober) describe(err error, connected bool) string {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	timeout, isTimeout := errors.AsType[net.Error](err)
	late := isTimeout && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case late && !connected:
		return fmt.Sprintf("connect timeout %g s", p.timeout.Seconds())
	case late:
		return fmt.Sprintf("no answer within %g s", p.timeout.Seconds())
	case untrusted:
		return fmt.Sprintf("%v; add that CA to the ConfigMap that spec.trustedCA names", err)
	case err.Error() == http.StatusText(http.StatusProxyAuthRequired):
		return "the proxy requires valid credentials (407); set user name and password in its URL"
	}
	return err.Error()
}

// sleep waits. It returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
