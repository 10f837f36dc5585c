// Package netprobe probes the reachability of addresses: by TCP, by UDP, with packets of the link's MTU, and by DNS name. Its
// server answers the probes. Both run in pods of the operator's own image.
package netprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// The ways of a probe.
const (
	// TCP connects and expects an echo of bytes. Connect only connects. UDP expects an echo of one datagram. Name resolves
	// a name.
	TCP     = "tcp"
	Connect = "connect"
	UDP     = "udp"
	Name    = "name"
)

// Full is the size of a probe with packets of the link's MTU.
const Full = -1

// Probe is one probe.
type Probe struct {
	// ID is chosen by the caller and copied to the result.
	ID string `json:"id"`
	// Way is TCP, Connect, UDP or Name.
	Way string `json:"way"`
	// Host is an address or a name; Port is not used by Name.
	Host string `json:"host"`
	Port int    `json:"port,omitempty"`
	// Size is the number of bytes to send; 0 means a few, Full as many as fit into a packet (UDP), or fill many (TCP).
	Size int `json:"size,omitempty"`
	// Patient is true for targets that may not be ready yet, such as a new Service: the probe is retried for some
	// seconds.
	Patient bool `json:"patient,omitempty"`
	// Denied is true for targets that must not be reachable. The result is the same, an error if the target is not
	// reached; but the probe is retried while it succeeds, if Patient is true, and has to fail several times in a row, since
	// single packets may be lost.
	Denied bool `json:"denied,omitempty"`
}

// Result is the result of a probe. Error is empty if it succeeded.
type Result struct {
	ID           string `json:"id"`
	Error        string `json:"error,omitempty"`
	Milliseconds int64  `json:"milliseconds"`
}

const (
	// limit is the timeout of one try, tries the number of tries, since single packets may be lost.
	limit = 2 * time.Second
	tries = 3
	// failures is the number of consecutive failures of a probe with Denied.
	failures = 2
	// atOnce is the number of concurrent probes.
	atOnce = 16
	few    = 32
	// patient is the time for which a probe with Patient is retried, pause the time between tries.
	patient = 10 * time.Second
	pause   = 250 * time.Millisecond
	// many is larger than a TCP window.
	many = 256 << 10
	// headers is the size of the headers of IPv6 and UDP; IPv4 needs 20 bytes less.
	headers = 48
)

// Run runs all probes concurrently, and returns the results in their order.
func Run(ctx context.Context, probes []Probe) []Result {
	results := make([]Result, len(probes))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, p := range probes {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results[i] = run(ctx, p)
		})
	}
	all.Wait()
	return results
}

func run(ctx context.Context, p Probe) Result {
	if p.Denied {
		return runDenied(ctx, p)
	}
	res := Result{ID: p.ID}
	start := time.Now()
	for i := 0; i < tries || p.Patient && time.Since(start) < patient && ctx.Err() == nil; i++ {
		begin := time.Now()
		err := try(ctx, p)
		res.Milliseconds = time.Since(begin).Milliseconds()
		if res.Error = ""; err == nil {
			return res
		}
		res.Error = err.Error()
		if p.Patient {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
	return res
}

// runDenied retries until the probe has failed several times in a row.
func runDenied(ctx context.Context, p Probe) Result {
	res := Result{ID: p.ID}
	start := time.Now()
	for failed := 0; failed < failures; {
		begin := time.Now()
		err := try(ctx, p)
		res.Milliseconds = time.Since(begin).Milliseconds()
		if err != nil {
			res.Error = err.Error()
			failed++
			continue
		}
		res.Error, failed = "", 0
		if !p.Patient || time.Since(start) >= patient || ctx.Err() != nil {
			return res
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return res
}

func try(ctx context.Context, p Probe) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch p.Way {
	case Name:
		_, err := net.DefaultResolver.LookupHost(ctx, p.Host)
		return err
	case TCP, Connect, UDP:
		return exchange(ctx, p)
	default:
		return fmt.Errorf("there is no way %q", p.Way)
	}
}

// exchange sends bytes and expects their echo.
func exchange(ctx context.Context, p Probe) error {
	network := p.Way
	if network == Connect {
		network = TCP
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(p.Host, strconv.Itoa(p.Port)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if p.Way == Connect {
		return nil
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	size, err := sizeOf(p, conn.LocalAddr())
	if err != nil {
		return err
	}
	message := make([]byte, size)
	sent := make(chan error, 1)
	go func() { _, err := conn.Write(message); sent <- err }()
	n, err := io.ReadFull(conn, message)
	if err != nil {
		return fmt.Errorf("%d of %d bytes have come back: %w", n, size, errors.Join(err, written(sent)))
	}
	return nil
}

// written returns the error of writing, if that has ended.
func written(sent <-chan error) error {
	select {
	case err := <-sent:
		return err
	default:
		return nil
	}
}

// sizeOf returns the number of bytes that a probe sends on the link with a local address.
func sizeOf(p Probe, local net.Addr) (int, error) {
	switch {
	case p.Size == 0:
		return few, nil
	case p.Size != Full:
		return p.Size, nil
	case p.Way == TCP:
		return many, nil
	}
	mtu, err := mtuOf(local)
	return mtu - headers, err
}

func mtuOf(local net.Addr) (int, error) {
	host, _, err := net.SplitHostPort(local.String())
	if err != nil {
		return 0, err
	}
	links, err := net.Interfaces()
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		addresses, err := link.Addrs()
		if err != nil {
			return 0, err
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.String() == host {
				// The MTU of a loopback is larger than the maximum size of a datagram.
				return min(link.MTU, 1<<15), nil
			}
		}
	}
	return 0, fmt.Errorf("no link has the address %s", host)
}
