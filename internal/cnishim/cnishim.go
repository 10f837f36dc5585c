// Package cnishim is the CNI plugin for networks whose agent serves CNI, installed under the name of each network. It is independent of the network: it sends
// the runtime's arguments to the agent's socket, and prints the response.
package cnishim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

const (
	// Directories of agents' sockets. A configuration cannot name a socket elsewhere.
	runDir       = "/run/"
	legacyRunDir = "/var/run/"
	// defaultSocket is the default socket of a plugin by name.
	defaultSocket = "/run/cno/%s/cni.sock"
	// timeout is the timeout of a call; the kubelet allows four minutes for a sandbox.
	timeout = 100 * time.Second
	// statusTimeout is that of STATUS, with which the runtime frequently checks whether the node is ready.
	statusTimeout = 5 * time.Second
	// retry is the delay between attempts to connect to a socket without a listener, for example while the agent restarts.
	retry = 50 * time.Millisecond
)

// Call is an invocation of the plugin. All exported fields are required.
type Call struct {
	// Program is the path of the executed file.
	Program string
	// Env is the environment.
	Env    []string
	Stdin  io.Reader
	Stdout io.Writer
	// owner is the user ID of the agent; 0 on a node.
	owner int
	// root is the root of the file system in tests.
	root string
	// limit replaces timeout and statusTimeout in tests.
	limit time.Duration
}

// config are the keys of the network configuration that the shim uses.
type config struct {
	CNIVersion string `json:"cniVersion"`
	// Socket is the agent's socket, below /run; empty means the default of the plugin's name.
	Socket string `json:"socket"`
}

// Run executes one call, and returns the exit status of the process.
func Run(ctx context.Context, c Call) int {
	return c.Print(func(request cniproto.Request) ([]byte, error) { return c.forward(ctx, request) })
}

// Print executes one call with do, which receives the validated request and returns the output, and returns the exit status of the process. It handles VERSION
// itself. Errors are printed in CNI's format, in the version of the configuration.
func (c Call) Print(do func(cniproto.Request) ([]byte, error)) int {
	version := cniproto.NewestVersion
	result, err := c.run(&version, do)
	if err != nil {
		e := cniproto.AsError(err)
		result, err = json.Marshal(struct {
			CNIVersion string `json:"cniVersion"`
			*cniproto.Error
		}{version, e})
		if err != nil {
			return 1
		}
		_, _ = c.Stdout.Write(append(result, '\n')) // the exit status also indicates the error
		return 1
	}
	if len(result) > 0 {
		if _, err := c.Stdout.Write(append(result, '\n')); err != nil {
			return 1
		}
	}
	return 0
}

// run returns the output. It sets the CNI version in which an error is reported.
func (c Call) run(version *string, do func(cniproto.Request) ([]byte, error)) ([]byte, error) {
	env := map[string]string{}
	for _, e := range c.Env {
		if key, value, ok := strings.Cut(e, "="); ok {
			env[key] = value
		}
	}
	command := env["CNI_COMMAND"]
	if command == cniproto.Inquire {
		return json.Marshal(map[string]any{"cniVersion": cniproto.NewestVersion, "supportedVersions": cniproto.SupportedVersions()})
	}
	raw, err := io.ReadAll(io.LimitReader(c.Stdin, cniproto.MaxMessage+1))
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeIO, "read the configuration: %v", err)
	}
	if len(raw) > cniproto.MaxMessage {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, "the configuration is longer than %d bytes", cniproto.MaxMessage)
	}
	var conf config
	if err := json.Unmarshal(raw, &conf); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	if conf.CNIVersion != "" {
		*version = conf.CNIVersion
	}
	request, err := c.request(command, env, raw)
	if err != nil {
		return nil, err
	}
	return do(request)
}

// forward sends a request to the default socket of the plugin's name, or to the configured one.
func (c Call) forward(ctx context.Context, request cniproto.Request) ([]byte, error) {
	var conf config
	if err := json.Unmarshal(request.Config, &conf); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	socket, err := c.socket(request.Plugin, conf.Socket)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, socket, request)
}

// request validates the runtime's arguments. The server validates them again, since it has other clients.
func (c Call) request(command string, env map[string]string, conf []byte) (cniproto.Request, error) {
	r := cniproto.Request{Version: cniproto.Version, ID: RequestID(), Plugin: filepath.Base(c.Program), Command: command,
		ContainerID: env["CNI_CONTAINERID"], NetNS: env["CNI_NETNS"], IfName: env["CNI_IFNAME"], Args: env["CNI_ARGS"], Path: env["CNI_PATH"],
		Config: json.RawMessage(bytes.TrimSpace(conf)), Timeout: timeout}
	var missing []string
	needed := map[string]string{}
	switch command {
	case cniproto.Add, cniproto.Check:
		needed = map[string]string{"CNI_CONTAINERID": r.ContainerID, "CNI_NETNS": r.NetNS, "CNI_IFNAME": r.IfName}
	case cniproto.Delete:
		needed = map[string]string{"CNI_CONTAINERID": r.ContainerID, "CNI_IFNAME": r.IfName}
	case cniproto.GC:
	case cniproto.Status:
		r.Timeout = statusTimeout
	default:
		return r, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "CNI_COMMAND is %q, which is not a command of CNI", command)
	}
	for _, key := range []string{"CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"} {
		if value, ok := needed[key]; ok && value == "" {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return r, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "%s needs %s", command, strings.Join(missing, ", "))
	}
	if c.limit > 0 {
		r.Timeout = c.limit
	}
	return r, nil
}

// RequestID returns a new identifier of a request for logs.
func RequestID() string {
	return strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.Itoa(os.Getpid())
}

// socket returns the path of the agent's socket. It rejects a path outside of /run, so that a configuration written by a tenant cannot direct the shim
// elsewhere.
func (c Call) socket(plugin, configured string) (string, error) {
	path := fmt.Sprintf(defaultSocket, plugin)
	if configured != "" {
		path = filepath.Clean(configured)
		if path != configured || !strings.HasPrefix(path, runDir) && !strings.HasPrefix(path, legacyRunDir) {
			return "", cniproto.Errorf(cniproto.CodeInvalidConfig, "socket %q is not a clean path below /run", configured)
		}
	}
	return filepath.Join(c.root, path), nil
}

// Send sends a request to an agent's socket and returns the result. It retries while no agent listens, since the agent may be restarting. A timeout is error
// 11, with which the runtime retries. A DEL that the agent has not executed is an error, too.
func (c Call) Send(ctx context.Context, socket string, r cniproto.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	conn, err := c.connect(ctx, socket)
	if err != nil {
		return nil, unavailable(r.Command, socket, err)
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, unavailable(r.Command, socket, err)
	}
	r.Timeout = time.Until(deadline)
	if err := errors.Join(cniproto.Write(conn, r), conn.CloseWrite()); err != nil {
		return nil, unavailable(r.Command, socket, err)
	}
	var response cniproto.Response
	if err := cniproto.Read(conn, &response); err != nil {
		return nil, unavailable(r.Command, socket, err)
	}
	switch {
	case response.Version != cniproto.Version || response.ID != r.ID:
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the agent behind %s responds with version %d to request %q, expected version %d and %q", socket, response.Version, response.ID, cniproto.Version, r.ID)
	case response.Error != nil:
		return nil, response.Error
	}
	return response.Result, nil
}

// unavailable returns the error of an unavailable agent.
func unavailable(command, socket string, err error) error {
	code := cniproto.CodeTryAgain
	if command == cniproto.Status {
		code = cniproto.CodeNotAvailable
	}
	return &cniproto.Error{Code: code, Message: "the network's agent does not answer at " + socket, Details: err.Error()}
}

// connect waits until a process of the expected user listens.
func (c Call) connect(ctx context.Context, socket string) (*net.UnixConn, error) {
	for {
		conn, err := c.dial(ctx, socket)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(retry):
		}
	}
}

func (c Call) dial(ctx context.Context, socket string) (*net.UnixConn, error) {
	info, err := os.Lstat(socket)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is not a socket", socket)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	unixConn := conn.(*net.UnixConn)
	uid, err := PeerUID(unixConn)
	if err == nil && uid != c.owner {
		err = fmt.Errorf("user %d listens at %s, expected %d", uid, socket, c.owner)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return unixConn, nil
}

// PeerUID returns the user ID of the peer of a connection.
func PeerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, fmt.Errorf("read the peer's credentials: %w", credErr)
	}
	return int(cred.Uid), nil
}
