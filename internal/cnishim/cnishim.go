// Package cnishim is the CNI plugin that nodes have under the name of each network whose agent serves CNI. It knows no network:
// it sends what the runtime passes to the agent's socket, and prints the answer.
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
	// Sockets of agents are below these directories. A configuration cannot name one elsewhere.
	runDir       = "/run/"
	legacyRunDir = "/var/run/"
	// defaultSocket is the socket of the plugin with a name.
	defaultSocket = "/run/cno/%s/cni.sock"
	// waitLimit is how long the shim waits for the agent in all; kubelet gives a sandbox four minutes.
	waitLimit = 100 * time.Second
	// statusLimit is that of STATUS, by which the runtime decides whether the node is ready, often.
	statusLimit = 5 * time.Second
	// retry is how often a socket without a listener is tried again, for example while the agent restarts.
	retry = 50 * time.Millisecond
)

// Call is how the plugin is called. All fields must be set.
type Call struct {
	// Program is the path by which it was started.
	Program string
	// Env is the environment.
	Env    []string
	Stdin  io.Reader
	Stdout io.Writer
	// owner is the user that the agent must run as; 0 in a node.
	owner int
	// root stands for the root of the file system in tests.
	root string
	// limit replaces waitLimit and statusLimit in tests.
	limit time.Duration
}

// config are the keys that the shim reads of a network configuration.
type config struct {
	CNIVersion string `json:"cniVersion"`
	// Socket is the agent's, below /run; that of the plugin's name if it is empty.
	Socket string `json:"socket"`
}

// Run does one call, and returns the exit status of the process.
func Run(ctx context.Context, c Call) int {
	return c.Print(func(request cniproto.Request) ([]byte, error) { return c.forward(ctx, request) })
}

// Print does one call with a function that gets the checked request and returns what is to be printed, and returns the exit status of
// the process. VERSION is answered without the function. Errors are printed as CNI has them, in the version of the configuration.
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
		_, _ = c.Stdout.Write(append(result, '\n')) // the exit status says the same
		return 1
	}
	if len(result) > 0 {
		if _, err := c.Stdout.Write(append(result, '\n')); err != nil {
			return 1
		}
	}
	return 0
}

// run returns what is to be printed. It sets the version of CNI that an error is reported in.
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

// forward sends a request to the socket of the plugin's name, or to the one of the configuration.
func (c Call) forward(ctx context.Context, request cniproto.Request) ([]byte, error) {
	var conf config
	if err := json.Unmarshal(request.Config, &conf); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	socket, err := c.socket(request.Plugin, conf.Socket)
	if err != nil {
		return nil, err
	}
	return c.Ask(ctx, socket, request)
}

// request checks what the runtime passes. The server checks it again: it has other clients, too.
func (c Call) request(command string, env map[string]string, conf []byte) (cniproto.Request, error) {
	r := cniproto.Request{Version: cniproto.Version, ID: RequestID(), Plugin: filepath.Base(c.Program), Command: command,
		ContainerID: env["CNI_CONTAINERID"], NetNS: env["CNI_NETNS"], IfName: env["CNI_IFNAME"], Args: env["CNI_ARGS"], Path: env["CNI_PATH"],
		Config: json.RawMessage(bytes.TrimSpace(conf)), Timeout: waitLimit}
	var missing []string
	needed := map[string]string{}
	switch command {
	case cniproto.Add, cniproto.Check:
		needed = map[string]string{"CNI_CONTAINERID": r.ContainerID, "CNI_NETNS": r.NetNS, "CNI_IFNAME": r.IfName}
	case cniproto.Delete:
		needed = map[string]string{"CNI_CONTAINERID": r.ContainerID, "CNI_IFNAME": r.IfName}
	case cniproto.GC:
	case cniproto.Status:
		r.Timeout = statusLimit
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

// RequestID returns a new name for a request in logs.
func RequestID() string {
	return strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.Itoa(os.Getpid())
}

// socket returns the path of the agent's socket. The plugin's name and the runtime's own file decide; a path outside of /run
// is refused, so that a configuration that a tenant may write cannot have the shim connect elsewhere.
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

// Ask sends a request to an agent's socket and returns the result. While no agent listens it tries again, since the agent may be restarting; an agent
// that does not answer in time is error 11, by which the runtime tries again. A DEL that the agent has not done is an error, too.
func (c Call) Ask(ctx context.Context, socket string, r cniproto.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	conn, err := c.connect(ctx, socket)
	if err != nil {
		return nil, unanswered(r.Command, socket, err)
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, unanswered(r.Command, socket, err)
	}
	r.Timeout = time.Until(deadline)
	if err := errors.Join(cniproto.Write(conn, r), conn.CloseWrite()); err != nil {
		return nil, unanswered(r.Command, socket, err)
	}
	var answer cniproto.Response
	if err := cniproto.Read(conn, &answer); err != nil {
		return nil, unanswered(r.Command, socket, err)
	}
	switch {
	case answer.Version != cniproto.Version || answer.ID != r.ID:
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the agent behind %s answers with version %d to request %q, expected version %d and %q", socket, answer.Version, answer.ID, cniproto.Version, r.ID)
	case answer.Error != nil:
		return nil, answer.Error
	}
	return answer.Result, nil
}

// unanswered is the error while the agent cannot be asked.
func unanswered(command, socket string, err error) error {
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

// PeerUID returns the user at the other end of a connection.
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
