// Package attach implements the CNI plugin multus-shim, which the runtime's configuration names on nodes where pods can have further networks. It
// uses libcni, in the host's mount namespace, to attach a pod to its default network, whose list is part of the shim's configuration (package
// delegate), and to each network that the pod's annotation requests. The node's daemon resolves these requests (package wire); pods without a
// request do not need the daemon.
//
// Before the first plugin runs, the shim writes a record of all plugin invocations to disk. DEL undoes the record in reverse order, without the
// daemon, the API server or the definitions. Attachments that remain after a crash or power failure are removed by the following DEL, or by the sweep
// of a later invocation.
package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cnishim"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// StateDir is the directory of records and plugin results.
	StateDir = "/var/lib/cno/multus"
	// RunDir is the directory of locks; it is empty after a restart of the node.
	RunDir = "/run/cno/multus"
	// cleanupReserve is the time of an invocation that is reserved for undoing a failed ADD.
	cleanupReserve = 20 * time.Second
	// giveUpAfter is how long a plugin that is no longer on the node delays the removal of a sandbox.
	giveUpAfter = 5 * time.Minute
)

// Shim holds the dependencies of the plugin. All fields must be set; Run sets them for a node.
type Shim struct {
	// State is StateDir, Run is RunDir and Multus is MultusDir, except in tests.
	State, Run, Multus string
	// DeviceInfo is DeviceInfoDir.
	DeviceInfo string
	Ask        func(ctx context.Context, command string, message any, into any) error
	Now        func() time.Time
}

// Run handles one invocation of the plugin, and returns the exit status.
func Run(ctx context.Context, call cnishim.Call) int {
	s := Shim{State: StateDir, Run: RunDir, Multus: MultusDir, DeviceInfo: DeviceInfoDir, Now: time.Now, Ask: func(ctx context.Context, command string, message, into any) error {
		return ask(ctx, call, command, message, into)
	}}
	return call.Print(func(r cniproto.Request) ([]byte, error) { return s.Do(ctx, r) })
}

// ask sends a message to the daemon.
func ask(ctx context.Context, call cnishim.Call, command string, message, into any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	socket := wire.Socket
	if command == wire.CommandPolicies || command == wire.CommandCheckPolicies {
		socket = wire.PolicySocket
	}
	answer, err := call.Send(ctx, socket, cniproto.Request{
		Version: cniproto.Version, ID: cnishim.RequestID(), Plugin: delegate.Shim, Command: command, Config: raw, Timeout: wire.Deadline,
	})
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return cniproto.Errorf(cniproto.CodeTryAgain, "decode the daemon's answer: %v", err)
	}
	return nil
}

// Do carries out a request, and returns the output of the plugin.
func (s Shim) Do(ctx context.Context, r cniproto.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	c, err := s.parse(r)
	if err != nil {
		return nil, err
	}
	switch r.Command {
	case cniproto.Add:
		return c.add(ctx)
	case cniproto.Delete:
		return nil, c.del(ctx)
	case cniproto.Check:
		return nil, c.check(ctx)
	case cniproto.GC:
		return nil, c.collect(ctx)
	case cniproto.Status:
		return nil, c.status(ctx)
	}
	return nil, cniproto.Errorf(cniproto.CodeInvalidEnvironment, "%q is not a command of CNI", r.Command)
}

// call is one request about one sandbox.
type call struct {
	Shim
	request cniproto.Request
	conf    delegate.Conf
	// own is the list of the default network.
	own  *libcni.NetworkConfigList
	args [][2]string
	cni  *libcni.CNIConfig
}

func (s Shim) parse(r cniproto.Request) (*call, error) {
	c := &call{Shim: s, request: r}
	if err := json.Unmarshal(r.Config, &c.conf); err != nil {
		return nil, cniproto.Errorf(cniproto.CodeDecode, "decode the configuration: %v", err)
	}
	if len(c.conf.Delegate) == 0 {
		return nil, cniproto.Errorf(cniproto.CodeInvalidConfig, `the configuration has no "delegate", the list of the default network`)
	}
	var err error
	if c.own, err = parseList(c.conf.Delegate); err != nil {
		return nil, fmt.Errorf("delegate: %w", err)
	}
	for pair := range strings.SplitSeq(r.Args, ";") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			c.args = append(c.args, [2]string{key, value})
		}
	}
	c.cni = c.runner(newExec())
	return c, nil
}

// runner returns a libcni that has the runtime's plugins run by exec.
func (c *call) runner(exec invoke.Exec) *libcni.CNIConfig {
	return libcni.NewCNIConfigWithCacheDir(filepath.SplitList(c.request.Path), c.State, exec)
}

func (c *call) pod() wire.Pod { return podOf(c.args) }

// annotations returns those of the pod, and whether the runtime has passed them.
func (c *call) annotations() (map[string]string, bool) {
	raw, passed := c.conf.RuntimeConfig[delegate.CapabilityAnnotations]
	if !passed {
		return nil, false
	}
	annotations := map[string]string{}
	if err := json.Unmarshal(raw, &annotations); err != nil {
		return nil, false
	}
	return annotations, true
}

// mayRequestNetworks reports whether the pod may request further networks: its annotations do, or the runtime did not pass them. A sandbox without a
// pod requests none.
func (c *call) mayRequestNetworks() bool {
	annotations, known := c.annotations()
	if !known {
		return c.pod().Name != ""
	}
	return strings.TrimSpace(annotations[wire.AnnotationNetworks]) != "" || strings.TrimSpace(annotations[wire.AnnotationDefault]) != ""
}

// defaultRuntime returns the arguments of the default network's plugins, with all capabilities that the runtime passes.
func (c *call) defaultRuntime() *libcni.RuntimeConf {
	capabilities := map[string]any{}
	for name, value := range c.conf.RuntimeConfig {
		capabilities[name] = value
	}
	return &libcni.RuntimeConf{
		ContainerID: c.request.ContainerID, NetNS: c.request.NetNS, IfName: c.request.IfName, Args: c.args, CapabilityArgs: capabilities,
	}
}

// status reports whether pods can be attached to the default network. Runtimes call it every few seconds, so it also triggers the removal of
// attachments of an earlier boot.
func (c *call) status(ctx context.Context) error {
	c.sweep(ctx)
	return c.cni.GetStatusNetworkList(ctx, c.own)
}

// encodeResult returns a result as JSON, in the CNI version of the configuration.
func (c *call) encodeResult(result types.Result) ([]byte, error) {
	converted, err := result.GetAsVersion(c.conf.CNIVersion)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeIncompatibleVersion, "convert the result to version %s: %v", c.conf.CNIVersion, err)
	}
	return json.Marshal(converted)
}

// exists reports whether a file exists; it is false for the empty path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return path != "" && err == nil
}
