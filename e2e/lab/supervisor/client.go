package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Client sends requests to the supervisor that listens on a unix socket.
type Client struct {
	http http.Client
}

// NewClient returns a client. It opens a connection for each request, so that the
// supervisor may be restarted.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &Client{http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Start calls Supervisor.Start.
func (c *Client) Start(ctx context.Context, u Unit) error {
	body, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encode the unit: %w", err)
	}
	_, err = c.do(ctx, http.MethodPost, "/units", body)
	return err
}

// Stop calls Supervisor.Stop with the time limit StopTimeout.
func (c *Client) Stop(ctx context.Context, unit string) error {
	_, err := c.do(ctx, http.MethodPost, "/units/"+unit+"/stop", nil)
	return err
}

// Signal calls Supervisor.Signal.
func (c *Client) Signal(ctx context.Context, unit string, sig syscall.Signal) error {
	_, err := c.do(ctx, http.MethodPost, fmt.Sprintf("/units/%s/signal/%d", unit, sig), nil)
	return err
}

// Status calls Supervisor.Status.
func (c *Client) Status(ctx context.Context) ([]Status, error) {
	body, err := c.do(ctx, http.MethodGet, "/units", nil)
	if err != nil {
		return nil, err
	}
	var list []Status
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("read the units: %w", err)
	}
	return list, nil
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://node"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("create a request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("request to the node's supervisor: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the supervisor's response: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", strings.TrimSpace(string(answer)))
	}
	return answer, nil
}
