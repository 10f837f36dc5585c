package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cnishim"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/panics"
)

const (
	// requestTimeout is the timeout for receiving a request and for sending the response.
	requestTimeout = 5 * time.Second
	// concurrency is the number of concurrent requests; others wait at the socket.
	concurrency = 16
)

// server serves the shim. All fields are required.
type server struct {
	// do executes a request.
	do      func(context.Context, cniproto.Request) (json.RawMessage, error)
	metrics *metrics
	log     *slog.Logger
}

// serve serves the shim until the context ends, and then waits for running requests. It closes the listener.
func (s server) serve(ctx context.Context, l *net.UnixListener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	slots := make(chan struct{}, concurrency)
	var requests sync.WaitGroup
	defer requests.Wait()
	for {
		slots <- struct{}{}
		conn, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serve the shim: %w", err)
		}
		requests.Go(func() {
			defer func() { _ = conn.Close(); <-slots }()
			s.handle(ctx, conn)
		})
	}
}

// handle handles the single request of a connection.
func (s server) handle(ctx context.Context, conn *net.UnixConn) {
	if uid, err := cnishim.PeerUID(conn); err != nil || uid != os.Geteuid() {
		s.log.Warn("rejected a client of another user", "uid", uid, "error", err)
		return
	}
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return
	}
	var r cniproto.Request
	response := cniproto.Response{Version: cniproto.Version}
	if err := cniproto.Read(conn, &r); err != nil {
		response.Error = cniproto.Errorf(cniproto.CodeDecode, "%v", err)
	} else {
		start := time.Now()
		ctx, cancel := context.WithTimeout(ctx, min(max(r.Timeout, time.Millisecond), wire.Deadline))
		defer cancel()
		result, err := s.execute(ctx, r)
		code := 0
		if err != nil {
			response.Error = cniproto.AsError(timeoutError(err))
			code = response.Error.Code
		}
		response.Result = result
		s.metrics.Done(r.Command, code, time.Since(start))
		s.log.Debug("request of the shim", "id", r.ID, "command", r.Command, "took", time.Since(start), "error", err)
	}
	response.ID = r.ID
	if err := errors.Join(conn.SetDeadline(time.Now().Add(requestTimeout)), cniproto.Write(conn, response)); err != nil {
		s.log.Warn("cannot send the response to the shim", "id", r.ID, "command", r.Command, "error", err)
	}
}

// timeoutError maps an exceeded deadline to the error code with which the runtime retries.
func timeoutError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &cniproto.Error{Code: cniproto.CodeTryAgain, Message: "the daemon did not finish in time", Details: err.Error()}
	}
	return err
}

// execute executes a request. A panic is the error of this request alone: definitions and annotations are texts of tenants, and the daemon serves all of them.
func (s server) execute(ctx context.Context, r cniproto.Request) (result json.RawMessage, err error) {
	if r.Version != cniproto.Version {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the shim speaks version %d, the daemon version %d: one of them is being replaced", r.Version, cniproto.Version)
	}
	err = panics.Catch(func(p *panics.Error) {
		s.log.Error("panic in a request of the shim", "id", r.ID, "command", r.Command, "panic", p.Value, "stack", string(p.Stack))
	}, func() (err error) {
		result, err = s.do(ctx, r)
		return err
	})
	return result, err
}

// do handles requests for plans, and reports.
func (d *daemon) do(ctx context.Context, r cniproto.Request) (json.RawMessage, error) {
	switch r.Command {
	case wire.CommandPlan:
		var request wire.PlanRequest
		if err := json.Unmarshal(r.Config, &request); err != nil {
			return nil, cniproto.Errorf(cniproto.CodeDecode, "%v", err)
		}
		plan, err := d.plan(ctx, request)
		if err != nil {
			return nil, err
		}
		return json.Marshal(plan)
	case wire.CommandReport:
		var report wire.Report
		if err := json.Unmarshal(r.Config, &report); err != nil {
			return nil, cniproto.Errorf(cniproto.CodeDecode, "%v", err)
		}
		err := d.report(ctx, report)
		if err == nil && report.Failure == "" {
			for _, n := range report.Networks {
				d.metrics.operation("ADD", n.Name, n.Took)
			}
		}
		return nil, err
	case wire.CommandRemoved:
		var removal wire.Removal
		if err := json.Unmarshal(r.Config, &removal); err != nil {
			return nil, cniproto.Errorf(cniproto.CodeDecode, "%v", err)
		}
		for _, n := range removal.Networks {
			d.metrics.operation("DEL", n.Name, n.Took)
		}
		return nil, nil
	}
	return nil, unknownRequest(r)
}

func unknownRequest(r cniproto.Request) error {
	return cniproto.Errorf(cniproto.CodeInvalidEnvironment, "%q is not a request of the shim to this daemon", r.Command)
}
