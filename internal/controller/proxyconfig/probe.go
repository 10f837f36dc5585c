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

// rootsOf returns whom to trust; no one, if the text has no certificate.
func rootsOf(pem string) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(pem))
	return pool
}

// probe asks for an endpoint until it is reached, some times at most, and returns what is wrong then.
func (p *prober) probe(ctx context.Context, roots *x509.CertPool, e endpointOf) string {
	through, err := url.Parse(e.proxy)
	if err != nil {
		return "the proxy's URL cannot be read"
	}
	transport := &http.Transport{
		Proxy:             http.ProxyURL(through),
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	asker := &http.Client{
		Transport: transport, Timeout: p.timeout,
		// Being sent elsewhere is an answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var last string
	for try := range p.tries {
		if try > 0 && !sleep(ctx, p.pause) {
			break
		}
		if last = p.get(ctx, asker, e); last == "" {
			return ""
		}
	}
	return fmt.Sprintf("probe of %s via %s failed: %s (%d tries)", noproxy.Redact(e.url), noproxy.Redact(e.proxy), last, p.tries)
}

// get asks once.
func (p *prober) get(ctx context.Context, asker *http.Client, e endpointOf) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url, nil)
	if err != nil {
		return "the endpoint's URL cannot be read"
	}
	request.Header.Set("User-Agent", "cluster-network-operator")
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }, ConnectDone: func(_, _ string, err error) { connected.Store(err == nil) }}
	response, err := asker.Do(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return noproxy.Scrub(p.describe(err, connected.Load()), e.proxy, e.url)
	}
	_ = response.Body.Close() // no one reads it
	switch code := response.StatusCode; {
	case code >= 200 && code < 400:
		return ""
	case code == http.StatusProxyAuthRequired:
		return "the proxy requires a user name and a password (407), or others than those in its URL"
	default:
		return fmt.Sprintf("the answer is %s", response.Status)
	}
}

// describe says what went wrong before or after the proxy was connected to, without the URL, which may have a password in
// it.
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
		return fmt.Sprintf("%v; put that authority in the ConfigMap that spec.trustedCA names", err)
	case err.Error() == http.StatusText(http.StatusProxyAuthRequired):
		return "the proxy requires a user name and a password (407), or others than those in its URL"
	}
	return err.Error()
}

// sleep waits, and reports whether it could do so to the end.
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
