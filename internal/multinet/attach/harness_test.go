package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/host/cniplugins"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// The environment of a process of this test that is the shim.
const (
	envShim = "ATTACH_TEST_SHIM"
	envPlan = "ATTACH_TEST_PLAN"
	// envInstall is the environment of a process that installs plugins: from and to, with a colon between them.
	envInstall = "ATTACH_TEST_INSTALL"
)

func TestMain(m *testing.M) {
	if state := os.Getenv(envShim); state != "" {
		os.Exit(shimProcess(state))
	}
	if from, to, ok := strings.Cut(os.Getenv(envInstall), ":"); ok {
		if err := cniplugins.Install(from, to, slog.New(slog.DiscardHandler)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// shimProcess is the shim as a process of its own, which can be killed. Its plan is in a file.
func shimProcess(state string) int {
	var r cniproto.Request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	s := Shim{State: state, Run: state + "/run", Multus: state + "/multus", DeviceInfo: state + "/devinfo", Now: time.Now, Ask: func(_ context.Context, command string, _, into any) error {
		if command != wire.CommandPlan {
			return nil
		}
		raw, err := os.ReadFile(os.Getenv(envPlan))
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, into)
	}}
	if _, err := s.Do(context.Background(), r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// fixture is a node with the shim, and one sandbox.
type fixture struct {
	t    testing.TB
	shim Shim
	// path is CNI_PATH, own the list of the default network.
	path, own string
	pod       netns.Namespace
	// plan is what the daemon answers, planErr its error; asked are the requests that it got.
	plan      wire.Plan
	planErr   error
	reportErr error
	asked     []string
	reports   []wire.Report
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, pod: netns.New(t, "pod")}
	f.shim = Shim{State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run"), Multus: filepath.Join(dir, "multus"), DeviceInfo: filepath.Join(dir, "devinfo"), Now: time.Now, Ask: f.ask}
	return f
}

func (f *fixture) ask(_ context.Context, command string, message, into any) error {
	f.asked = append(f.asked, command)
	if command == wire.CommandReport {
		f.reports = append(f.reports, message.(wire.Report))
		return f.reportErr
	}
	if f.planErr != nil {
		return f.planErr
	}
	if into == nil {
		return nil
	}
	raw, err := json.Marshal(f.plan)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// annotated are the annotations of a pod that asks for networks.
var annotated = map[string]string{wire.AnnotationNetworks: "a,b"}

// request is one of the runtime. A nil map is a runtime that passes no annotations.
func (f *fixture) request(command string, annotations map[string]string) cniproto.Request {
	f.t.Helper()
	if annotations == nil {
		return f.passing(command, nil)
	}
	return f.passing(command, map[string]any{delegate.CapabilityAnnotations: annotations})
}

// passing is a request of a runtime that passes values of capabilities.
func (f *fixture) passing(command string, runtime map[string]any) cniproto.Request {
	f.t.Helper()
	conf := map[string]any{"cniVersion": "1.0.0", "name": "pods", "type": delegate.Shim, "delegate": json.RawMessage(f.own)}
	if runtime != nil {
		conf["runtimeConfig"] = runtime
	}
	raw, err := json.Marshal(conf)
	if err != nil {
		f.t.Fatal(err)
	}
	return cniproto.Request{Command: command, ContainerID: "c1", NetNS: f.pod.Path(), IfName: "eth0", Path: f.path, Config: raw,
		Args: "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=pod;K8S_POD_UID=u1", Timeout: time.Minute}
}

func (f *fixture) do(command string, annotations map[string]string) (*current.Result, error) {
	f.t.Helper()
	out, err := f.shim.Do(f.t.Context(), f.request(command, annotations))
	if err != nil || len(out) == 0 {
		return nil, err
	}
	result, err := current.NewResult(out)
	if err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	converted, err := current.NewResultFromResult(result)
	if err != nil {
		f.t.Fatal(err)
	}
	return converted, nil
}

func (f *fixture) must(command string, annotations map[string]string) *current.Result {
	f.t.Helper()
	result, err := f.do(command, annotations)
	if err != nil {
		f.t.Fatalf("%s: %v", command, err)
	}
	return result
}

// files are the names in a directory of the shim.
func (f *fixture) files(name string) []string {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.shim.State, name))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// scripted replaces the plugins by scripts that write their calls to a file. Each is a shell script in which the call is in $call, for example
// "ADD net1"; it prints a result without interfaces at its end.
func (f *fixture) scripted(names []string, body string) (calls func() []string) {
	f.t.Helper()
	f.path = f.t.TempDir()
	log := filepath.Join(f.path, "calls")
	script := "#!/bin/sh\ncall=\"$CNI_COMMAND $CNI_IFNAME\"\necho \"$call\" >>" + log + "\n" + body + "\n" +
		`[ "$CNI_COMMAND" = ADD ] && echo '{"cniVersion":"1.0.0","ips":[]}'` + "\nexit 0\n"
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(f.path, name), []byte(script), 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	f.own = `{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"default"}]}`
	f.plan = wire.Plan{Attachments: []wire.Attachment{attachment("ns/a", "net1", "further"), attachment("ns/b", "net2", "further")}}
	return func() []string {
		raw, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			f.t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(raw)), "\n")
	}
}

func attachment(name, iface, plugin string) wire.Attachment {
	list := fmt.Sprintf(`{"cniVersion":"1.0.0","name":%q,"plugins":[{"type":%q}]}`, strings.ReplaceAll(name, "/", "-"), plugin)
	return wire.Attachment{Network: name, Interface: iface, List: json.RawMessage(list)}
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

// newNode is the network namespace of a node with the uplink up0.
func newNode(t testing.TB) netns.Namespace {
	t.Helper()
	node := netns.New(t, "node")
	node.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "far0")
	for _, link := range []string{"up0", "far0"} {
		node.Run("ip", "link", "set", link, "up")
	}
	return node
}

// locked lets calls of several goroutines ask a fixture.
type locked struct {
	mu  sync.Mutex
	ask func(ctx context.Context, command string, message, into any) error
}

func (l *locked) do(ctx context.Context, command string, message, into any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ask(ctx, command, message, into)
}
