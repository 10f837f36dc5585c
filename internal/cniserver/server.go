package cniserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/utils"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cnishim"
	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/panics"
)

const (
	// requestTimeout is the timeout for receiving a request.
	requestTimeout = 5 * time.Second
	// maxTimeout is the maximum timeout that a client may request.
	maxTimeout = 4 * time.Minute
	// cleanupTimeout is the timeout of the cleanup after a failed ADD.
	cleanupTimeout = 30 * time.Second
	// defaultConcurrency is the default number of concurrent requests.
	defaultConcurrency = 16
)

// Metrics observes requests. It may be nil.
type Metrics interface {
	// Done is called after each request with its command, the CNI code of its error or 0, and its duration.
	Done(command string, code int, took time.Duration)
}

// Server serves CNI. Handler, Dir and Log are required.
type Server struct {
	Handler Handler
	// Dir is the directory of attachments, which persists across restarts of the agent.
	Dir string
	Log *slog.Logger
	// Concurrency is the number of concurrent requests; 0 means 16.
	Concurrency int
	// Failed is called when an ADD has failed with a permanent error, for an event on the pod. May be nil.
	Failed  func(Pod, error)
	Metrics Metrics

	store store
	queue *queue
	// serving is true after store and queue are set.
	serving atomic.Bool
}

// errReplaced cancels the ADD of a sandbox whose pod has a newer one.
var errReplaced = cniproto.Errorf(cniproto.CodeTryAgain, "the pod has a newer sandbox")

// Serve serves requests until the context ends, and then waits for running ones. It closes the listener. Before the first request it removes incomplete
// attachments of an earlier process, and those of deleted sandboxes.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	if s.Concurrency == 0 {
		s.Concurrency = defaultConcurrency
	}
	s.store, s.queue = store{s.Dir}, newQueue(s.Concurrency)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	if err := s.store.open(); err != nil {
		return errors.Join(err, l.Close())
	}
	s.Sweep(ctx)
	s.serving.Store(true)
	var requests sync.WaitGroup
	defer requests.Wait()
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("serve CNI: %w", err)
		}
		requests.Go(func() {
			defer func() { _ = conn.Close() }()
			s.serve(ctx, conn)
		})
	}
}

// serve handles the single request of a connection.
func (s *Server) serve(ctx context.Context, conn *net.UnixConn) {
	if uid, err := cnishim.PeerUID(conn); err != nil || uid != os.Geteuid() {
		s.Log.Warn("rejected a CNI client of another user", "uid", uid, "error", err)
		return
	}
	var r cniproto.Request
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return
	}
	if err := cniproto.Read(conn, &r); err != nil {
		s.respond(conn, r, nil, cniproto.Errorf(cniproto.CodeDecode, "%v", err))
		return
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, min(max(r.Timeout, time.Millisecond), maxTimeout))
	defer cancel()
	result, err := s.guarded(ctx, r)
	code := 0
	if err != nil {
		code = cniproto.AsError(err).Code
	}
	if s.Metrics != nil {
		s.Metrics.Done(r.Command, code, time.Since(start))
	}
	s.Log.Debug("CNI request", "id", r.ID, "command", r.Command, "container", r.ContainerID, "interface", r.IfName, "took", time.Since(start), "error", err)
	s.respond(conn, r, result, err)
}

func (s *Server) respond(conn net.Conn, r cniproto.Request, result json.RawMessage, err error) {
	response := cniproto.Response{Version: cniproto.Version, ID: r.ID, Result: result}
	if err != nil {
		response.Error = cniproto.AsError(err)
	}
	if err := errors.Join(conn.SetDeadline(time.Now().Add(requestTimeout)), cniproto.Write(conn, response)); err != nil {
		s.Log.Warn("cannot send the response to a CNI request", "id", r.ID, "command", r.Command, "error", err)
	}
}

// Do executes a request that did not arrive at the socket, with the same guarantees. Before the server serves, and after the context has ended, its error has
// the code with which clients retry.
func (s *Server) Do(ctx context.Context, r cniproto.Request) (json.RawMessage, error) {
	if !s.serving.Load() {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the agent is starting")
	}
	return s.guarded(ctx, r)
}

// guarded executes a request. A panic is the error of this request alone: the record of its attachment stays, with which the next DEL or start cleans up.
func (s *Server) guarded(ctx context.Context, r cniproto.Request) (result json.RawMessage, err error) {
	err = panics.Catch(func(p *panics.Error) {
		s.Log.Error("panic in a CNI request", "id", r.ID, "command", r.Command, "container", r.ContainerID, "interface", r.IfName, "panic", p.Value, "stack", string(p.Stack))
	}, func() (err error) {
		result, err = s.do(ctx, r)
		return err
	})
	return result, err
}

// do executes a request.
func (s *Server) do(ctx context.Context, r cniproto.Request) (json.RawMessage, error) {
	if r.Version != cniproto.Version {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the shim speaks version %d, the agent version %d: one of them is being replaced", r.Version, cniproto.Version)
	}
	if r.Command == cniproto.Status {
		if err := s.Handler.Status(ctx); err != nil {
			return nil, unavailable(err)
		}
		return nil, nil
	}
	call, read, err := parse(r)
	if err != nil {
		return nil, err
	}
	if r.Command == cniproto.GC {
		return nil, s.collect(ctx, call.Network, read.Valid)
	}
	return s.attachment(ctx, r.Command, call, read)
}

// unavailable returns the error of STATUS: code 50 unless the handler returned its own.
func unavailable(err error) error {
	var e *cniproto.Error
	if errors.As(err, &e) {
		return e
	}
	return cniproto.Errorf(cniproto.CodeNotAvailable, "%v", err)
}

// attachment executes a request for one attachment while holding the lock of its sandbox.
func (s *Server) attachment(ctx context.Context, command string, call Call, read conf) (json.RawMessage, error) {
	if command == cniproto.Add {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		defer s.queue.newest(call.Pod(), call.ContainerID, cancel, errReplaced)()
	}
	leave, err := s.queue.enter(ctx, call.ContainerID)
	if err != nil {
		return nil, timeoutError(err)
	}
	defer leave()
	switch command {
	case cniproto.Add:
		result, err := s.add(ctx, call)
		if err != nil {
			return nil, timeoutError(err)
		}
		return inVersion(result, read.CNIVersion)
	case cniproto.Delete:
		return nil, timeoutError(s.del(ctx, call))
	case cniproto.Check:
		return nil, timeoutError(s.check(ctx, call, read))
	}
	return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "%q is not a command of CNI", command)
}

// timeoutError maps an exceeded deadline to the error code with which the runtime retries.
func timeoutError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &cniproto.Error{Code: cniproto.CodeTryAgain, Message: "the agent did not finish in time", Details: err.Error()}
	}
	return err
}

// add attaches a pod. A repeated ADD of the same interface in the same namespace has the same result.
func (s *Server) add(ctx context.Context, call Call) (*current.Result, error) {
	id, err := nsid.Of(call.NetNS)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeUnknownContainer, "network namespace %s: %v", call.NetNS, err)
	}
	old, err := s.store.get(call.key())
	if err != nil {
		return nil, err
	}
	if old != nil {
		if old.Result != nil && old.NetNSID == id && old.Call.Network == call.Network && s.Handler.Check(ctx, old.Call, old.Result) == nil {
			return old.Result, nil
		}
		// It belongs to an incomplete ADD, or to an earlier boot.
		if err := s.undo(ctx, old.Call); err != nil {
			return nil, err
		}
	}
	// After a crash from here on, the next process removes the remains by the record.
	r := record{Call: call, NetNSID: id}
	if err := s.store.put(r); err != nil {
		return nil, err
	}
	result, err := s.Handler.Add(ctx, call)
	if err == nil {
		r.Result = result
		err = s.store.put(r)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
			err = errors.Join(cause, err)
		}
		return nil, s.failed(ctx, call, err)
	}
	return result, nil
}

// failed removes the remains of a failed ADD, and reports a permanent error.
func (s *Server) failed(ctx context.Context, call Call, err error) error {
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if left := s.undo(cleaning, call); left != nil {
		s.Log.Error("cannot remove the remains of a failed ADD; the next DEL, GC or start retries", "container", call.ContainerID, "interface", call.IfName, "error", left)
	}
	if code := cniproto.AsError(timeoutError(err)).Code; code != cniproto.CodeTryAgain && s.Failed != nil {
		s.Failed(call.Pod(), err)
	}
	return err
}

// undo removes an attachment and its record.
func (s *Server) undo(ctx context.Context, call Call) error {
	if err := s.Handler.Del(ctx, call); err != nil {
		return err
	}
	return s.store.remove(call.key())
}

// del removes an attachment, with the recorded arguments of its ADD, or the runtime's if there is no record.
func (s *Server) del(ctx context.Context, call Call) error {
	known, err := s.store.get(call.key())
	if err != nil {
		s.Log.Warn("cannot read the record of an attachment; using the runtime's arguments", "container", call.ContainerID, "error", err)
	}
	if known != nil {
		netns := call.NetNS
		call = known.Call
		if netns == "" {
			call.NetNS = ""
		}
	}
	return s.undo(ctx, call)
}

// check compares an attachment with the result of its ADD.
func (s *Server) check(ctx context.Context, call Call, read conf) error {
	known, err := s.store.get(call.key())
	if err != nil {
		return err
	}
	if known == nil || known.Result == nil {
		return cniproto.Errorf(cniproto.CodeUnknownContainer, "interface %s of container %s is not attached", call.IfName, call.ContainerID)
	}
	if len(read.PrevResult) == 0 {
		return cniproto.Errorf(cniproto.CodeInvalidConfig, "CHECK needs prevResult")
	}
	return s.Handler.Check(ctx, call, known.Result)
}

// collect removes the attachments of a network that are no longer valid. It continues after errors.
func (s *Server) collect(ctx context.Context, network string, valid []attachment) error {
	records, err := s.store.all()
	errs := []error{err}
	for _, r := range records {
		if r.Call.Network != network || slices.Contains(valid, attachment{r.Call.ContainerID, r.Call.IfName}) {
			continue
		}
		errs = append(errs, s.removeRecord(ctx, r))
	}
	return timeoutError(errors.Join(errs...))
}

// removeRecord removes the attachment of a record while holding the lock of its sandbox, unless it has changed: an ADD that was running when the record was
// read may have succeeded.
func (s *Server) removeRecord(ctx context.Context, r record) error {
	leave, err := s.queue.enter(ctx, r.Call.ContainerID)
	if err != nil {
		return err
	}
	defer leave()
	now, err := s.store.get(r.Call.key())
	if err != nil || now == nil || now.NetNSID != r.NetNSID || (now.Result == nil) != (r.Result == nil) {
		return err
	}
	if err := s.undo(ctx, r.Call); err != nil {
		return fmt.Errorf("remove interface %s of container %s: %w", r.Call.IfName, r.Call.ContainerID, err)
	}
	return nil
}

// parse parses and validates the runtime's arguments. It reports all errors at once.
func parse(r cniproto.Request) (Call, conf, error) {
	var read conf
	if err := json.Unmarshal(r.Config, &read); err != nil {
		return Call{}, read, cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	args, err := parseArgs(r.Args)
	if err != nil {
		return Call{}, read, err
	}
	if !slices.Contains(cniproto.SupportedVersions(), read.CNIVersion) {
		return Call{}, read, cniproto.Errorf(cniproto.CodeIncompatibleVersion, "cniVersion %q is not supported; supported are %s", read.CNIVersion, strings.Join(cniproto.SupportedVersions(), ", "))
	}
	var problems []string
	if e := utils.ValidateNetworkName(read.Name); e != nil {
		problems = append(problems, fmt.Sprintf("name %q: %s", read.Name, e.Msg))
	}
	if r.Command != cniproto.GC {
		if e := utils.ValidateContainerID(r.ContainerID); e != nil {
			problems = append(problems, fmt.Sprintf("CNI_CONTAINERID %q: %s", r.ContainerID, e.Msg))
		}
		if e := utils.ValidateInterfaceName(r.IfName); e != nil {
			problems = append(problems, fmt.Sprintf("CNI_IFNAME %q: %s", r.IfName, e.Msg))
		}
		if r.NetNS != "" && !filepath.IsAbs(r.NetNS) || r.NetNS == "" && r.Command != cniproto.Delete {
			problems = append(problems, fmt.Sprintf("CNI_NETNS %q is not an absolute path", r.NetNS))
		}
	}
	if len(problems) > 0 {
		return Call{}, read, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "%s", strings.Join(problems, "; "))
	}
	config, err := stable(r.Config)
	if err != nil {
		return Call{}, read, err
	}
	return Call{Plugin: r.Plugin, Network: read.Name, ContainerID: r.ContainerID, NetNS: nsid.BelowRun(r.NetNS), IfName: r.IfName, Args: args, Config: config}, read, nil
}

// stable returns a configuration without the runtime's additions for a call.
func stable(config json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	var keys map[string]any
	if err := d.Decode(&keys); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	delete(keys, "prevResult")
	delete(keys, "cni.dev/valid-attachments")
	return json.Marshal(keys)
}

// inVersion converts a result to the CNI version of the configuration.
func inVersion(result *current.Result, version string) (json.RawMessage, error) {
	converted, err := result.GetAsVersion(version)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeIncompatibleVersion, "convert the result to version %s: %v", version, err)
	}
	return json.Marshal(converted)
}
