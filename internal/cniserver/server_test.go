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
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// toy is a network in memory. Its functions replace what it does.
type toy struct {
	mu       sync.Mutex
	attached map[string]bool
	calls    []string
	add      func(context.Context, Call) error
	del      func(context.Context, Call) error
	status   error
}

func (n *toy) note(what string, c Call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, what+" "+c.key())
}

func (n *toy) Add(ctx context.Context, c Call) (*current.Result, error) {
	n.note("add", c)
	if n.add != nil {
		if err := n.add(ctx, c); err != nil {
			return nil, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attached[c.key()] = true
	zero := 0
	return &current.Result{Interfaces: []*current.Interface{{Name: c.IfName, Sandbox: c.NetNS}},
		IPs: []*current.IPConfig{{Interface: &zero, Address: net.IPNet{IP: net.IPv4(10, 0, 0, byte(len(n.calls))), Mask: net.CIDRMask(24, 32)}}}}, nil
}

func (n *toy) Check(_ context.Context, c Call, _ *current.Result) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.attached[c.key()] {
		return errors.New("not attached")
	}
	return nil
}

func (n *toy) Del(ctx context.Context, c Call) error {
	n.note("del", c)
	if n.del != nil {
		if err := n.del(ctx, c); err != nil {
			return err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.attached, c.key())
	return nil
}

func (n *toy) Status(context.Context) error { return n.status }

func (n *toy) counted(what string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(n.calls), func(c string) bool { return !strings.HasPrefix(c, what) }))
}

// node is a server and its environment.
type node struct {
	t      testing.TB
	dir    string
	toy    *toy
	failed chan error
	server *Server
	stop   func()
}

// newNode runs a server. Network namespaces are files here: the server only looks at their inodes.
func newNode(t testing.TB) *node {
	t.Helper()
	dir, err := os.MkdirTemp("", "cni") //nolint:usetesting // t.TempDir has the name of the test in its path, which is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	n := &node{t: t, dir: dir, toy: &toy{attached: map[string]bool{}}, failed: make(chan error, 100)}
	n.start()
	t.Cleanup(func() { n.stop() })
	return n
}

// start starts a server over what an earlier one has left.
func (n *node) start() {
	n.t.Helper()
	l, err := Listen(filepath.Join(n.dir, "agent", "cni.sock"))
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{Handler: n.toy, Dir: filepath.Join(n.dir, "attachments"), Log: slog.New(slog.DiscardHandler), Concurrency: 4,
		Failed: func(_ Pod, err error) { n.failed <- err }}
	n.server = s
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	var once sync.Once
	n.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				n.t.Error(err)
			}
		})
	}
}

// netns makes a namespace.
func (n *node) netns(name string) string {
	n.t.Helper()
	path := filepath.Join(n.dir, "netns-"+name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		n.t.Fatal(err)
	}
	return path
}

func (n *node) request(command, container string) cniproto.Request {
	r := cniproto.Request{Version: cniproto.Version, ID: "1", Plugin: "toy", Command: command, ContainerID: container, IfName: "eth0",
		Args: "K8S_POD_NAMESPACE=ns;K8S_POD_NAME=" + container, Config: json.RawMessage(`{"cniVersion":"1.1.0","name":"toy","type":"toy"}`), Timeout: time.Minute}
	r.NetNS = filepath.Join(n.dir, "netns-"+container)
	return r
}

// ask sends a request as the shim does.
func (n *node) ask(r cniproto.Request) cniproto.Response {
	n.t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(n.dir, "agent", "cni.sock"), Net: "unix"})
	if err != nil {
		n.t.Fatal(err)
	}
	defer conn.Close()
	var answer cniproto.Response
	if err := errors.Join(cniproto.Write(conn, r), conn.CloseWrite(), cniproto.Read(conn, &answer)); err != nil {
		n.t.Fatal(err)
	}
	return answer
}

func (n *node) records() int {
	n.t.Helper()
	files, err := filepath.Glob(filepath.Join(n.dir, "attachments", "*.json"))
	if err != nil {
		n.t.Fatal(err)
	}
	return len(files)
}

func TestAttachmentLifecycle(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	first := n.ask(n.request(cniproto.Add, "a"))
	if first.Error != nil || !bytes.Contains(first.Result, []byte("10.0.0.1/24")) {
		t.Fatalf("%s %v", first.Result, first.Error)
	}
	again := n.ask(n.request(cniproto.Add, "a"))
	if again.Error != nil || !bytes.Equal(again.Result, first.Result) || n.toy.counted("add") != 1 {
		t.Errorf("an ADD that is repeated: %s %v", again.Result, again.Error)
	}
	check := n.request(cniproto.Check, "a")
	check.Config = json.RawMessage(`{"cniVersion":"1.1.0","name":"toy","prevResult":` + string(first.Result) + `}`)
	if r := n.ask(check); r.Error != nil {
		t.Errorf("CHECK: %v", r.Error)
	}
	if r := n.ask(n.request(cniproto.Check, "b")); r.Error == nil || r.Error.Code != cniproto.CodeInvalidEnvironment && r.Error.Code != cniproto.CodeUnknownContainer {
		t.Errorf("CHECK of what is not attached: %v", r.Error)
	}
	for range 2 {
		if r := n.ask(n.request(cniproto.Delete, "a")); r.Error != nil || len(r.Result) > 0 {
			t.Errorf("DEL: %s %v", r.Result, r.Error)
		}
	}
	if n.records() != 0 {
		t.Error("a record is left")
	}
}

func TestResultsOfEachCNIVersion(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	for _, version := range cniproto.SupportedVersions() {
		r := n.request(cniproto.Add, "a")
		r.Config = json.RawMessage(fmt.Sprintf(`{"cniVersion":%q,"name":"toy"}`, version))
		got := n.ask(r)
		var result struct {
			CNIVersion string
			IPs        []struct{ Address, Version string }
		}
		if err := json.Unmarshal(got.Result, &result); err != nil || got.Error != nil || result.CNIVersion != version || len(result.IPs) != 1 || (result.IPs[0].Version == "4") != strings.HasPrefix(version, "0.") {
			t.Errorf("%s: %s, %v, %v", version, got.Result, got.Error, err)
		}
	}
}

// TestFailedADDLeavesNothing: ADD fails with an error of its own, by its deadline, or because its process is killed.
func TestFailedADDLeavesNothing(t *testing.T) {
	t.Run("an error", func(t *testing.T) {
		n := newNode(t)
		n.netns("a")
		n.toy.add = func(context.Context, Call) error { return cniproto.Errorf(123, "no way") }
		if r := n.ask(n.request(cniproto.Add, "a")); r.Error == nil || r.Error.Code != 123 {
			t.Errorf("%v", r.Error)
		}
		if n.toy.counted("del") != 1 || n.records() != 0 {
			t.Error("something is left")
		}
		if err := <-n.failed; !strings.Contains(err.Error(), "no way") {
			t.Errorf("the event of the pod has %v", err)
		}
	})
	t.Run("its deadline", func(t *testing.T) {
		n := newNode(t)
		n.netns("a")
		n.toy.add = func(ctx context.Context, _ Call) error { <-ctx.Done(); return ctx.Err() }
		r := n.request(cniproto.Add, "a")
		r.Timeout = 50 * time.Millisecond
		if r := n.ask(r); r.Error == nil || r.Error.Code != cniproto.CodeTryAgain {
			t.Errorf("%v", r.Error)
		}
		if n.toy.counted("del") != 1 || n.records() != 0 || len(n.failed) != 0 {
			t.Error("something is left, or an event is made of what passes")
		}
	})
	t.Run("a crash", func(t *testing.T) {
		n := newNode(t)
		n.netns("a")
		call := Call{Plugin: "toy", Network: "toy", ContainerID: "a", NetNS: filepath.Join(n.dir, "netns-a"), IfName: "eth0", Config: json.RawMessage(`{}`)}
		n.stop()
		// This is what a process leaves that ends between its record and the result of the network.
		if err := (store{filepath.Join(n.dir, "attachments")}).put(record{Call: call, NetNSID: "x"}); err != nil {
			t.Fatal(err)
		}
		n.start()
		if r := n.ask(n.request(cniproto.Add, "a")); r.Error != nil || n.toy.counted("del") != 1 {
			t.Errorf("%v, %v", r.Error, n.toy.calls)
		}
	})
}

// disk puts the records on a small file system of their own, and returns functions that fill it and empty it again.
func (n *node) disk() (fill, empty func()) {
	n.t.Helper()
	dir := filepath.Join(n.dir, "attachments")
	filler := filepath.Join(dir, "filler")
	n.stop()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	n.start()
	return func() {
			if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
				n.t.Errorf("the disk is not full: %v", err)
			}
		}, func() {
			if err := os.Remove(filler); err != nil {
				n.t.Error(err)
			}
		}
}

// A full disk keeps a pod from starting, and leaves nothing of it, wherever in its ADD the disk is full. No pod is kept from ending.
func TestNoPodStartsWhileTheDiskIsFull(t *testing.T) {
	n := newNode(t)
	fill, empty := n.disk()
	for _, name := range []string{"runs", "early", "late"} {
		n.netns(name)
	}
	refused := func(name string, calls int) {
		t.Helper()
		if r := n.ask(n.request(cniproto.Add, name)); r.Error == nil || !strings.Contains(r.Error.Error(), "no space left") {
			t.Errorf("%s: %v", name, r.Error)
		}
		if got := n.toy.counted("add " + name); got != calls {
			t.Errorf("%s: the network was asked %d times, expected %d", name, got, calls)
		}
	}
	if r := n.ask(n.request(cniproto.Add, "runs")); r.Error != nil {
		t.Fatal(r.Error)
	}
	n.toy.add = func(_ context.Context, c Call) error {
		if c.ContainerID == "late" {
			fill()
		}
		return nil
	}
	refused("late", 1)
	fill() // what was removed has freed space
	refused("early", 0)
	if n.records() != 1 || len(n.toy.attached) != 1 {
		t.Errorf("left: %d records, %v", n.records(), n.toy.attached)
	}
	if r := n.ask(n.request(cniproto.Delete, "runs")); r.Error != nil || n.records() != 0 || len(n.toy.attached) != 0 {
		t.Errorf("DEL: %v, left %v", r.Error, n.toy.attached)
	}
	empty()
	n.toy.add = nil
	if r := n.ask(n.request(cniproto.Add, "early")); r.Error != nil {
		t.Errorf("with space again: %v", r.Error)
	}
}

func TestARestartKeepsAttachmentsAndARebootRemovesThem(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	n.netns("b")
	kept := n.ask(n.request(cniproto.Add, "a"))
	if r := n.ask(n.request(cniproto.Add, "b")); kept.Error != nil || r.Error != nil {
		t.Fatal(kept.Error, r.Error)
	}
	n.stop()
	if err := os.Remove(filepath.Join(n.dir, "netns-b")); err != nil {
		t.Fatal(err)
	}
	n.start()
	if r := n.ask(n.request(cniproto.Add, "a")); r.Error != nil || !bytes.Equal(r.Result, kept.Result) {
		t.Errorf("%s, %v", r.Result, r.Error)
	}
	if n.toy.counted("add") != 2 || !slices.Contains(n.toy.calls, "del b/eth0") || n.records() != 1 {
		t.Errorf("%v", n.toy.calls)
	}
}

// TestSweepKeepsAnAttachmentWhoseADDIsRunning has the server look for what is left over while an ADD runs.
func TestSweepKeepsAnAttachmentWhoseADDIsRunning(t *testing.T) {
	n := newNode(t)
	n.netns("one")
	runs, proceed := make(chan struct{}), make(chan struct{})
	n.toy.add = func(context.Context, Call) error { close(runs); <-proceed; return nil }
	answered := make(chan cniproto.Response, 1)
	go func() { answered <- n.ask(n.request(cniproto.Add, "one")) }()
	<-runs
	swept := make(chan struct{})
	go func() { defer close(swept); n.server.Sweep(t.Context()) }()
	eventually.Is(t, "the sweep waits for the turn of the sandbox", func() bool {
		n.server.queue.mu.Lock()
		defer n.server.queue.mu.Unlock()
		return n.server.queue.sandboxes["one"].users == 2
	})
	close(proceed)
	if r := <-answered; r.Error != nil {
		t.Fatal(r.Error)
	}
	<-swept
	if n.toy.counted("del") != 0 || n.records() != 1 {
		t.Errorf("%d DELs, %d records: the attachment is removed", n.toy.counted("del"), n.records())
	}
}

func TestFailedDELIsAnErrorAndIsRepeated(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	if r := n.ask(n.request(cniproto.Add, "a")); r.Error != nil {
		t.Fatal(r.Error)
	}
	n.toy.del = func(context.Context, Call) error { return errors.New("the switch does not answer") }
	if r := n.ask(n.request(cniproto.Delete, "a")); r.Error == nil || n.records() != 1 {
		t.Errorf("%v, %d records", r.Error, n.records())
	}
	n.toy.del = nil
	r := n.request(cniproto.Delete, "a")
	r.NetNS = ""
	if r := n.ask(r); r.Error != nil || n.records() != 0 {
		t.Errorf("%v, %d records", r.Error, n.records())
	}
}

func TestGCKeepsValidAttachmentsAndOtherNetworks(t *testing.T) {
	n := newNode(t)
	for _, name := range []string{"a", "b", "c"} {
		n.netns(name)
		r := n.request(cniproto.Add, name)
		if name == "c" {
			r.Config = json.RawMessage(`{"cniVersion":"1.1.0","name":"other"}`)
		}
		if r := n.ask(r); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	gc := cniproto.Request{Version: cniproto.Version, Command: cniproto.GC, Timeout: time.Minute,
		Config: json.RawMessage(`{"cniVersion":"1.1.0","name":"toy","cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"}]}`)}
	if r := n.ask(gc); r.Error != nil || n.records() != 2 || n.toy.counted("del") != 1 || !slices.Contains(n.toy.calls, "del b/eth0") {
		t.Errorf("%v, %v", r.Error, n.toy.calls)
	}
}

func TestANewSandboxOfAPodCancelsTheFormer(t *testing.T) {
	n := newNode(t)
	n.netns("old")
	n.netns("new")
	started := make(chan struct{})
	n.toy.add = func(ctx context.Context, c Call) error {
		if c.ContainerID == "old" {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	pod := func(container string) cniproto.Request {
		r := n.request(cniproto.Add, container)
		r.Args = "K8S_POD_NAMESPACE=ns;K8S_POD_NAME=p"
		return r
	}
	former := make(chan cniproto.Response, 1)
	go func() { former <- n.ask(pod("old")) }()
	<-started
	if r := n.ask(pod("new")); r.Error != nil {
		t.Error(r.Error)
	}
	if r := <-former; r.Error == nil || r.Error.Code != cniproto.CodeTryAgain || !strings.Contains(r.Error.Error(), "newer sandbox") {
		t.Errorf("%v", r.Error)
	}
}

func TestRequestsOfASandboxAreSerialized(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	inside, release := make(chan struct{}), make(chan struct{})
	n.toy.add = func(context.Context, Call) error { close(inside); <-release; return nil }
	added, deleted := make(chan cniproto.Response, 1), make(chan cniproto.Response, 1)
	go func() { added <- n.ask(n.request(cniproto.Add, "a")) }()
	<-inside
	go func() { deleted <- n.ask(n.request(cniproto.Delete, "a")) }()
	n.netns("b")
	n.toy.add = nil
	if r := n.ask(n.request(cniproto.Add, "b")); r.Error != nil {
		t.Errorf("another sandbox waits: %v", r.Error)
	}
	if n.toy.counted("del") != 0 {
		t.Error("the DEL does not wait for the ADD of its sandbox")
	}
	close(release)
	if a, d := <-added, <-deleted; a.Error != nil || d.Error != nil || n.toy.attached["a/eth0"] {
		t.Errorf("%v, %v", a.Error, d.Error)
	}
}

func TestOnlyAFewRequestsRunAtOnce(t *testing.T) {
	n := newNode(t)
	var mu sync.Mutex
	running, most := 0, 0
	n.toy.add = func(context.Context, Call) error {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		<-time.After(10 * time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}
	var all sync.WaitGroup
	for i := range 40 {
		name := fmt.Sprintf("c%d", i)
		n.netns(name)
		all.Go(func() {
			if r := n.ask(n.request(cniproto.Add, name)); r.Error != nil {
				t.Error(r.Error)
			}
		})
	}
	all.Wait()
	if most > 4 || n.records() != 40 {
		t.Errorf("%d at once, %d attachments", most, n.records())
	}
}

// TestEachVisitsTheAttachmentsThatExist: those whose ADD has succeeded, and whose sandbox still exists.
func TestEachVisitsTheAttachmentsThatExist(t *testing.T) {
	n := newNode(t)
	for _, container := range []string{"whole", "gone"} {
		n.netns(container)
		if r := n.ask(n.request(cniproto.Add, container)); r.Error != nil {
			t.Fatal(r.Error)
		}
	}
	n.netns("failed")
	n.toy.add = func(context.Context, Call) error { return errors.New("no") }
	if r := n.ask(n.request(cniproto.Add, "failed")); r.Error == nil {
		t.Fatal("the ADD did not fail")
	}
	if err := os.Remove(filepath.Join(n.dir, "netns-gone")); err != nil {
		t.Fatal(err)
	}
	var visited []string
	visit := func(_ context.Context, c Call) error {
		visited = append(visited, c.ContainerID)
		return errors.New("the visit's own")
	}
	if err := n.server.Each(t.Context(), func(Call) bool { return false }, visit); err != nil || len(visited) > 0 {
		t.Errorf("none matches, and visited are %v: %v", visited, err)
	}
	every := func(Call) bool { return true }
	if err := n.server.Each(t.Context(), every, visit); !slices.Equal(visited, []string{"whole"}) || err == nil || !strings.Contains(err.Error(), "the visit's own") {
		t.Errorf("visited %v: %v", visited, err)
	}
	if err := (&Server{}).Each(t.Context(), every, visit); err != nil {
		t.Errorf("a server that does not serve yet: %v", err)
	}

	// The ADD of another sandbox does not end before Each has.
	n.netns("slow")
	started, end := make(chan struct{}), make(chan struct{})
	n.toy.add = func(context.Context, Call) error { close(started); <-end; return nil }
	answered := make(chan cniproto.Response, 1)
	go func() { answered <- n.ask(n.request(cniproto.Add, "slow")) }()
	<-started
	visited = nil
	if err := n.server.Each(t.Context(), every, visit); err == nil || !slices.Equal(visited, []string{"whole"}) {
		t.Errorf("during an ADD, visited %v: %v", visited, err)
	}
	close(end)
	if r := <-answered; r.Error != nil {
		t.Error(r.Error)
	}
}

func TestADamagedRecordDoesNotStopTheOthers(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	if r := n.ask(n.request(cniproto.Add, "a")); r.Error != nil {
		t.Fatal(r.Error)
	}
	n.stop()
	file := filepath.Join(n.dir, "attachments", "00.json")
	if err := os.WriteFile(file, []byte(`{"format":1,`), 0o600); err != nil {
		t.Fatal(err)
	}
	n.start()
	if r := n.ask(n.request(cniproto.Delete, "a")); r.Error != nil || n.records() != 0 {
		t.Errorf("%v, %d records", r.Error, n.records())
	}
	if _, err := os.Stat(file + damaged); err != nil {
		t.Errorf("the damaged record is not kept: %v", err)
	}
}

func TestSTATUSIsThatOfTheNetwork(t *testing.T) {
	n := newNode(t)
	status := cniproto.Request{Version: cniproto.Version, Command: cniproto.Status, Config: json.RawMessage(`{"cniVersion":"1.1.0","name":"toy"}`), Timeout: time.Minute}
	if r := n.ask(status); r.Error != nil {
		t.Error(r.Error)
	}
	n.toy.status = errors.New("the switch does not run")
	if r := n.ask(status); r.Error == nil || r.Error.Code != cniproto.CodeNotAvailable {
		t.Errorf("%v", r.Error)
	}
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	for _, row := range []struct {
		why  string
		set  func(*cniproto.Request)
		code int
		want string
	}{
		{"another protocol", func(r *cniproto.Request) { r.Version = 2 }, cniproto.CodeTryAgain, "being replaced"},
		{"another version of CNI", func(r *cniproto.Request) { r.Config = json.RawMessage(`{"cniVersion":"2.0.0","name":"toy"}`) }, cniproto.CodeIncompatibleVersion, "supported are"},
		{"all that is wrong at once", func(r *cniproto.Request) { r.ContainerID, r.IfName, r.NetNS = "../a", "a/b", "relative" }, cniproto.CodeInvalidEnvironment, `CNI_NETNS "relative"`},
		{"a name that climbs", func(r *cniproto.Request) { r.Config = json.RawMessage(`{"cniVersion":"1.1.0","name":"../x"}`) }, cniproto.CodeInvalidEnvironment, "../x"},
		{"arguments", func(r *cniproto.Request) { r.Args = "A" }, cniproto.CodeInvalidEnvironment, "KEY=VALUE"},
		{"no such namespace", func(r *cniproto.Request) { r.NetNS = "/nowhere" }, cniproto.CodeUnknownContainer, "/nowhere"},
		{"no command", func(r *cniproto.Request) { r.Command = "PING" }, cniproto.CodeInvalidEnvironment, "PING"},
		{"no object", func(r *cniproto.Request) { r.Config = json.RawMessage(`[]`) }, cniproto.CodeDecode, "decode"},
	} {
		r := n.request(cniproto.Add, "a")
		row.set(&r)
		if got := n.ask(r); got.Error == nil || got.Error.Code != row.code || !strings.Contains(got.Error.Message, row.want) {
			t.Errorf("%s: %+v", row.why, got.Error)
		}
	}
	if n.toy.counted("add") != 0 {
		t.Error("a wrong request reaches the network")
	}
}

func TestAPanicIsTheErrorOfItsRequest(t *testing.T) {
	n := newNode(t)
	n.netns("a")
	n.toy.add = func(context.Context, Call) error { panic("boom") }
	if got := n.ask(n.request(cniproto.Add, "a")); got.Error == nil || got.Error.Code != cniproto.CodeInternal || !strings.Contains(got.Error.Message, "panic: boom") || n.records() != 1 {
		t.Errorf("%+v with %d records, which the cleanup needs", got.Error, n.records())
	}
	n.toy.add = nil
	if got := n.ask(n.request(cniproto.Add, "a")); got.Error != nil || n.toy.counted("del") != 1 {
		t.Errorf("the next ADD does not clean up and succeed: %+v", got.Error)
	}
}

func TestSocketIsAccessibleToItsUserOnly(t *testing.T) {
	n := newNode(t)
	n.ask(n.request(cniproto.Status, "a")) // the server has started
	for path, want := range map[string]os.FileMode{"agent": os.ModeDir | 0o700, "agent/cni.sock": os.ModeSocket | 0o600, "attachments": os.ModeDir | 0o700} {
		info, err := os.Lstat(filepath.Join(n.dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s: %v, want %v", path, info.Mode(), want)
		}
	}
	file := filepath.Join(n.dir, "agent", "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(file); err == nil {
		t.Error("a file is replaced")
	}
	if err := os.Symlink(n.dir, filepath.Join(n.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(filepath.Join(n.dir, "link", "s")); err == nil {
		t.Error("a link is followed")
	}
}

// TestStoppedAgentKeepsTheSocketOfItsSuccessor: both run for a time during a rollout.
func TestStoppedAgentKeepsTheSocketOfItsSuccessor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent", "cni.sock")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the successor cannot be reached: %v", err)
	}
	if err := errors.Join(conn.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	// What is left is replaced by the next one.
	third, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
}
