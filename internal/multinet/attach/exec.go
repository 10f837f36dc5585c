package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

const (
	// maxOutput is the maximum size of a plugin's output in bytes.
	maxOutput = cniproto.MaxMessage
	// waitDelay is how long the children of a killed plugin may keep its output open.
	waitDelay = 2 * time.Second
)

// executor runs plugins and kills them when the shim ends or its deadline passes.
type executor struct{ *version.PluginDecoder }

func newExec() invoke.Exec { return executor{&version.PluginDecoder{}} }

// FindInPath implements invoke.Exec.
func (executor) FindInPath(plugin string, paths []string) (string, error) {
	path, err := invoke.FindInPath(plugin, paths)
	if err != nil {
		return "", &missingError{plugin, paths}
	}
	return path, nil
}

// missingError is the error of a plugin that is not installed on the node.
type missingError struct {
	plugin string
	paths  []string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("the node has no CNI plugin %q in %s", e.plugin, strings.Join(e.paths, ", "))
}

// ExecPlugin implements invoke.Exec.
func (e executor) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	out, errOut := &limited{}, &limited{}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = environ, bytes.NewReader(stdin), out, errOut, waitDelay
	// The kernel kills the plugin when the shim ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Pdeathsig is sent when the thread that started the plugin ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the plugin did not finish in time")
	case out.dropped > 0:
		return nil, fmt.Errorf("the plugin printed %d bytes more than %d", out.dropped, maxOutput)
	case err != nil:
		return nil, pluginError(err, out.kept.Bytes(), errOut.kept.Bytes())
	}
	return out.kept.Bytes(), nil
}

// reroutedExec runs the CHECK of plugins whose default routes were replaced after their ADD: they get the routes that the network has in place of those
// that they returned, which libcni passes.
type reroutedExec struct {
	invoke.Exec
	routes []*types.Route
}

// ExecPlugin implements invoke.Exec.
func (e reroutedExec) ExecPlugin(ctx context.Context, path string, stdin []byte, environ []string) ([]byte, error) {
	var conf map[string]json.RawMessage
	if err := json.Unmarshal(stdin, &conf); err != nil {
		return nil, fmt.Errorf("decode the plugin's configuration: %w", err)
	}
	var err error
	if conf["prevResult"], err = withRoutes(conf["prevResult"], e.routes); err != nil {
		return nil, err
	}
	if stdin, err = json.Marshal(conf); err != nil {
		return nil, fmt.Errorf("encode the plugin's configuration: %w", err)
	}
	return e.Exec.ExecPlugin(ctx, path, stdin, environ)
}

// withRoutes returns a result of plugins with other routes.
func withRoutes(result json.RawMessage, routes []*types.Route) (json.RawMessage, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(result, &keys); err != nil {
		return nil, fmt.Errorf("decode the plugin's result: %w", err)
	}
	var err error
	if keys["routes"], err = json.Marshal(slices.Concat([]*types.Route{}, routes)); err != nil {
		return nil, fmt.Errorf("encode the plugin's result: %w", err)
	}
	return json.Marshal(keys)
}

// pluginError returns the CNI error that a plugin printed, or else an error with the plugin's exit status and output.
func pluginError(err error, stdout, stderr []byte) error {
	var printed types.Error
	if json.Unmarshal(stdout, &printed) == nil && printed.Msg != "" {
		return &printed
	}
	text := strings.TrimSpace(string(bytes.ToValidUTF8(firstOf(stderr, stdout), nil)))
	const most = 512
	if len(text) > most {
		text = text[:most] + "..."
	}
	if text == "" {
		return fmt.Errorf("the plugin failed without a message: %w", err)
	}
	return fmt.Errorf("the plugin failed: %w: %q", err, text)
}

func firstOf(a, b []byte) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}

// limited keeps the first maxOutput bytes, and counts the bytes that it drops. The buffer is not embedded, because its ReadFrom has no limit.
type limited struct {
	kept    bytes.Buffer
	dropped int
}

func (l *limited) Write(p []byte) (int, error) {
	room := max(0, min(len(p), maxOutput-l.kept.Len()))
	l.dropped += len(p) - room
	if _, err := l.kept.Write(p[:room]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isMissing reports whether an error is a missingError.
func isMissing(err error) bool {
	_, ok := errors.AsType[*missingError](err)
	return ok
}
