package dhcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"path/filepath"
	"time"

	"github.com/containernetworking/cni/pkg/skel"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/cnishim"
)

const (
	// legacyRetryInterval is the time between two attempts to listen on the legacy socket.
	legacyRetryInterval = time.Minute
	// legacyTimeout bounds a request: the protocol has no deadline.
	legacyTimeout = 100 * time.Second
)

// legacyServer serves containernetworking's plugin binary dhcp, which uses net/rpc over HTTP on a unix socket.
type legacyServer struct {
	server *cniserver.Server
	log    *slog.Logger
}

// retry serves at a socket until the context ends. While another process serves there, it waits for that process to end.
func (s legacyServer) retry(ctx context.Context, socket string) {
	last := ""
	for ctx.Err() == nil {
		err := s.serve(ctx, socket)
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != last {
			last = err.Error()
			s.log.Warn("containernetworking's own dhcp binary is not served; the installed plugin is", "socket", socket, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(legacyRetryInterval):
		}
	}
}

func (s legacyServer) serve(ctx context.Context, socket string) error {
	l, err := listenLegacy(ctx, socket)
	if err != nil {
		return err
	}
	calls := rpc.NewServer()
	// The name and the methods are those of the binary.
	if err := calls.RegisterName("DHCP", &legacyCalls{s.server, ctx}); err != nil {
		return errors.Join(fmt.Errorf("register calls: %w", err), l.Close())
	}
	mux := http.NewServeMux()
	mux.Handle(rpc.DefaultRPCPath, calls)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stop()
	if err := web.Serve(rootOnly{l, s.log}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// listenLegacy listens on a socket unless another process does. It does not change the permissions of the directory, which is not the agent's own.
func listenLegacy(ctx context.Context, socket string) (*net.UnixListener, error) {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, fmt.Errorf("create directory of the socket: %w", err)
	}
	switch info, err := os.Lstat(socket); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s exists and is not a socket", socket)
	default:
		if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
			return nil, errors.Join(errors.New("another daemon uses the socket; stop it, so that leases are also renewed after a restart"), conn.Close())
		}
		if err := os.Remove(socket); err != nil {
			return nil, fmt.Errorf("replace socket: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect socket: %w", err), l.Close())
	}
	return l, nil
}

// rootOnly accepts connections of the process' own user.
type rootOnly struct {
	*net.UnixListener
	log *slog.Logger
}

func (l rootOnly) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := cnishim.PeerUID(conn)
		if err == nil && uid == os.Geteuid() {
			return conn, nil
		}
		l.log.Warn("a DHCP client of another user is refused", "uid", uid, "error", err)
		_ = conn.Close()
	}
}

// legacyCalls has the RPC methods of the binary, which gets errors as text.
type legacyCalls struct {
	server *cniserver.Server
	// life is the context of the server: calls have none.
	life context.Context
}

// Allocate serves ADD and CHECK.
func (c *legacyCalls) Allocate(args *skel.CmdArgs, result *current.Result) error {
	raw, err := c.do(cniproto.Add, args)
	if err != nil {
		return err
	}
	var conf struct {
		CNIVersion string `json:"cniVersion"`
	}
	if err := json.Unmarshal(args.StdinData, &conf); err != nil {
		return fmt.Errorf("decode the configuration: %w", err)
	}
	parsed, err := version.NewResult(conf.CNIVersion, raw)
	if err != nil {
		return fmt.Errorf("decode the result: %w", err)
	}
	// The binary expects the newest version, not that of the configuration.
	newest, err := current.NewResultFromResult(parsed)
	if err != nil {
		return fmt.Errorf("convert the result: %w", err)
	}
	*result = *newest
	return nil
}

// Release serves DEL.
func (c *legacyCalls) Release(args *skel.CmdArgs, _ *struct{}) error {
	_, err := c.do(cniproto.Delete, args)
	return err
}

func (c *legacyCalls) do(command string, args *skel.CmdArgs) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(c.life, legacyTimeout)
	defer cancel()
	return c.server.Do(ctx, cniproto.Request{
		Version: cniproto.Version, ID: "legacy", Plugin: "dhcp", Command: command, ContainerID: args.ContainerID, NetNS: args.Netns,
		IfName: args.IfName, Args: args.Args, Path: args.Path, Config: args.StdinData, Timeout: legacyTimeout,
	})
}
