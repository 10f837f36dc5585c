package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// killedNode is a node with a daemon that is a process of its own, and plugins one of which kills it.
type killedNode struct {
	t      *testing.T
	server *apitest.Server
	config agentconfig.Config
	// plugins is the directory of the plugins, and of the files calls and daemon: the calls of plugins, and the process ID of the daemon to be killed.
	plugins string
	pod     *corev1.Pod
	netns   netns.Namespace
	shim    attach.Shim
}

// newKilledNode returns a node without a daemon. The first plugin that is called with killAt kills the daemon.
func newKilledNode(t *testing.T, killAt string) *killedNode {
	t.Helper()
	s, dir := apitest.Shared(t), t.TempDir()
	ns := s.Namespace(t)
	n := &killedNode{t: t, server: s, config: processConfig(t, ns), plugins: t.TempDir(), pod: podOfProcess(ns, "p"), netns: netns.New(t, "pod")}
	s.Create(t, definitionOf(ns, "lan", macvlan))
	s.Create(t, n.pod)
	n.shim = attach.Shim{State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run"), Multus: filepath.Join(dir, "multus"), DeviceInfo: filepath.Join(dir, "devinfo"),
		Now: time.Now, Ask: func(ctx context.Context, command string, message, into any) error {
			if command == wire.CommandPolicies {
				return send(ctx, filepath.Join(dir, "absent.sock"), command, message, into)
			}
			return send(ctx, n.config.Socket, command, message, into)
		}}
	script := fmt.Sprintf(`#!/bin/sh
cd %s
echo "$CNI_COMMAND $CNI_IFNAME" >>calls
[ "$CNI_COMMAND $CNI_IFNAME" = %q ] && [ -e daemon ] && { kill -9 $(cat daemon); while kill -0 $(cat daemon); do sleep 0.01; done; rm daemon; }
[ "$CNI_COMMAND" = ADD ] && echo '{"cniVersion":"1.0.0","ips":[]}'
exit 0
`, n.plugins, killAt)
	for _, name := range []string{"default", "macvlan"} {
		if err := os.WriteFile(filepath.Join(n.plugins, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// startUnharmed starts a daemon, and waits until it serves.
func (n *killedNode) startUnharmed() *exec.Cmd {
	n.t.Helper()
	daemon := startDaemon(n.t, n.server, n.config)
	eventually.Succeeds(n.t, "the daemon serves", func() error {
		conn, err := net.Dial("unix", n.config.Socket)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return daemon
}

// start starts the daemon that is killed. The returned channel is closed when it has ended.
func (n *killedNode) start() <-chan struct{} {
	n.t.Helper()
	daemon := n.startUnharmed()
	if err := os.WriteFile(filepath.Join(n.plugins, "daemon"), []byte(strconv.Itoa(daemon.Process.Pid)), 0o600); err != nil {
		n.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = daemon.Process.Wait() // it is killed
		close(ended)
	}()
	return ended
}

// add starts the pod, within a limit of the runtime.
func (n *killedNode) add(limit time.Duration) error {
	n.t.Helper()
	conf, err := json.Marshal(map[string]any{
		"cniVersion": "1.0.0", "name": "pods", "type": delegate.Shim, "delegate": json.RawMessage(`{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"default"}]}`),
		"runtimeConfig": map[string]any{delegate.CapabilityAnnotations: n.pod.Annotations},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	_, err = n.shim.Do(n.t.Context(), cniproto.Request{Command: cniproto.Add, ContainerID: "c1", NetNS: n.netns.Path(), IfName: "eth0", Path: n.plugins, Config: conf, Timeout: limit,
		Args: fmt.Sprintf("K8S_POD_NAMESPACE=%s;K8S_POD_NAME=%s;K8S_POD_UID=%s", n.pod.Namespace, n.pod.Name, n.pod.UID)})
	return err
}

// calls returns the calls of plugins, and forgets them.
func (n *killedNode) calls() []string {
	n.t.Helper()
	file := filepath.Join(n.plugins, "calls")
	raw, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		n.t.Fatal(err)
	}
	_ = os.Remove(file) // it may not exist
	return strings.FieldsFunc(string(raw), func(r rune) bool { return r == '\n' })
}

// attached fails the test unless the pod has its networks, and its status.
func (n *killedNode) attached() {
	n.t.Helper()
	if diff := cmp.Diff([]string{"ADD eth0", "ADD net1"}, n.calls()); diff != "" {
		n.t.Error(diff)
	}
	if err := n.server.Client.Get(n.t.Context(), ctrlclient.ObjectKeyFromObject(n.pod), n.pod); err != nil || !strings.Contains(n.pod.Annotations[wire.AnnotationStatus], n.pod.Namespace+"/lan") {
		n.t.Errorf("the pod has no status: %v %v", n.pod.Annotations, err)
	}
}

// notAttached fails the test unless an ADD failed so that the runtime repeats it, after these calls of plugins, and has left nothing.
func (n *killedNode) notAttached(err error, calls ...string) {
	n.t.Helper()
	if err == nil || cniproto.AsError(err).Code != cniproto.CodeTryAgain {
		n.t.Errorf("the ADD without the daemon: %v", err)
	}
	if got := n.calls(); !slices.Equal(got, calls) {
		n.t.Errorf("calls of plugins %q, want %q", got, calls)
	}
	if left, err := attach.PodsWithFurtherNetworks(n.shim.State); err != nil || len(left) > 0 {
		n.t.Errorf("left: %q %v", left, err)
	}
}

// longest is the limit of an ADD that succeeds, short that of one which cannot.
const (
	longest = 2 * time.Minute
	short   = 12 * time.Second
)

// TestTheDaemonIsKilledDuringAnADD after it has answered with the plan. The pod does not start without its status.
func TestTheDaemonIsKilledDuringAnADD(t *testing.T) {
	t.Run("and does not return", func(t *testing.T) {
		n := newKilledNode(t, "ADD net1")
		ended := n.start()
		n.notAttached(n.add(short), "ADD eth0", "ADD net1", "DEL net1", "DEL eth0")
		<-ended
		n.startUnharmed()
		if err := n.add(longest); err != nil {
			t.Fatal(err)
		}
		n.attached()
	})
	t.Run("and is started again", func(t *testing.T) {
		n := newKilledNode(t, "ADD eth0")
		ended := n.start()
		added := make(chan error, 1)
		go func() { added <- n.add(longest) }()
		<-ended
		n.startUnharmed()
		if err := <-added; err != nil {
			t.Fatal(err)
		}
		n.attached()
	})
	t.Run("and the daemon of policies is unavailable", func(t *testing.T) {
		n := newKilledNode(t, "")
		n.config.Policies = true
		n.startUnharmed()
		n.notAttached(n.add(short), "ADD eth0", "DEL net1", "DEL eth0")
	})
}
