package cnishim

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// called calls the shim in a file system of its own, and returns its exit status and what it prints.
func called(t *testing.T, root, conf string, env ...string) (int, map[string]any) {
	t.Helper()
	var out bytes.Buffer
	status := Run(t.Context(), Call{Program: "/opt/cni/bin/toy", Env: env, Stdin: strings.NewReader(conf), Stdout: &out, owner: os.Geteuid(), root: root, limit: 300 * time.Millisecond})
	var printed map[string]any
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	return status, printed
}

// short is a directory for sockets, whose paths are at most 108 bytes long.
func short(t *testing.T) string {
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
	return dir
}

// listens answers requests at the socket of the plugin toy.
func listens(t *testing.T, root string, answer func(cniproto.Request) any) {
	t.Helper()
	path := filepath.Join(root, "run/cno/toy/cni.sock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var r cniproto.Request
			if cniproto.Read(conn, &r) == nil {
				_ = cniproto.Write(conn, answer(r))
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
}

var add = []string{"CNI_COMMAND=ADD", "CNI_CONTAINERID=c", "CNI_NETNS=/n", "CNI_IFNAME=eth0", "CNI_ARGS=K8S_POD_NAME=p", "CNI_PATH=/opt/cni/bin"}

func TestResponseOfTheAgentIsPrinted(t *testing.T) {
	root := short(t)
	var got cniproto.Request
	listens(t, root, func(r cniproto.Request) any {
		got = r
		return cniproto.Response{Version: cniproto.Version, ID: r.ID, Result: json.RawMessage(`{"cniVersion":"1.0.0"}`)}
	})
	status, printed := called(t, root, `{"cniVersion":"1.0.0","name":"n","type":"toy"}`, add...)
	if status != 0 || printed["cniVersion"] != "1.0.0" {
		t.Errorf("%d %v", status, printed)
	}
	if got.Plugin != "toy" || got.Command != "ADD" || got.ContainerID != "c" || got.NetNS != "/n" || got.IfName != "eth0" || got.Args != "K8S_POD_NAME=p" || got.Timeout <= 0 || !strings.Contains(string(got.Config), `"name":"n"`) {
		t.Errorf("%+v", got)
	}
}

func TestErrorsKeepCodeAndMessage(t *testing.T) {
	root := short(t)
	listens(t, root, func(r cniproto.Request) any {
		return cniproto.Response{Version: cniproto.Version, ID: r.ID, Error: &cniproto.Error{Code: 107, Message: "no address", Details: "508 in use"}}
	})
	status, printed := called(t, root, `{"cniVersion":"0.4.0"}`, add...)
	if status != 1 || printed["code"] != 107.0 || printed["msg"] != "no address" || printed["details"] != "508 in use" || printed["cniVersion"] != "0.4.0" {
		t.Errorf("%d %v", status, printed)
	}
}

func TestNothingSucceedsWithoutAResponse(t *testing.T) {
	empty, silent, confused := short(t), short(t), short(t)
	listens(t, silent, func(cniproto.Request) any { return json.RawMessage(`{`) })
	listens(t, confused, func(cniproto.Request) any { return cniproto.Response{Version: cniproto.Version, ID: "another"} })
	for _, row := range []struct {
		why, root, command string
		code               float64
	}{
		{"no agent, ADD: the runtime tries again", empty, "ADD", cniproto.CodeTryAgain},
		{"no agent, DEL is never a success", empty, "DEL", cniproto.CodeTryAgain},
		{"no agent, STATUS: the node is not ready", empty, "STATUS", cniproto.CodeNotAvailable},
		{"an agent that breaks off", silent, "DEL", cniproto.CodeTryAgain},
		{"an answer to another request", confused, "ADD", cniproto.CodeTryAgain},
	} {
		env := append([]string{"CNI_COMMAND=" + row.command}, add[1:]...)
		if status, printed := called(t, row.root, `{"cniVersion":"1.1.0"}`, env...); status != 1 || printed["code"] != row.code {
			t.Errorf("%s: %d %v", row.why, status, printed)
		}
	}
}

func TestShimWaitsForARestartOfTheAgent(t *testing.T) {
	root := short(t)
	started := make(chan struct{})
	go func() {
		defer close(started)
		<-time.After(100 * time.Millisecond)
		listens(t, root, func(r cniproto.Request) any { return cniproto.Response{Version: cniproto.Version, ID: r.ID} })
	}()
	var out bytes.Buffer
	status := Run(t.Context(), Call{Program: "toy", Env: add, Stdin: strings.NewReader(`{"cniVersion":"1.1.0"}`), Stdout: &out, owner: os.Geteuid(), root: root, limit: time.Minute})
	<-started
	if status != 0 {
		t.Errorf("%d %s", status, out.String())
	}
}

func TestInvalidInvocationsAreRefused(t *testing.T) {
	root := short(t)
	for _, row := range []struct {
		why, conf string
		env       []string
		code      float64
		want      string
	}{
		{"no command", `{}`, nil, cniproto.CodeInvalidEnvironment, "CNI_COMMAND"},
		{"all that is missing at once", `{}`, []string{"CNI_COMMAND=ADD"}, cniproto.CodeInvalidEnvironment, "CNI_CONTAINERID, CNI_NETNS, CNI_IFNAME"},
		{"no JSON", `{`, add, cniproto.CodeDecode, "decode the configuration"},
		{"too long", `{"a":"` + strings.Repeat("a", cniproto.MaxMessage) + `"}`, add, cniproto.CodeInvalidConfig, "longer"},
		{"a socket elsewhere", `{"socket":"/tmp/evil.sock"}`, add, cniproto.CodeInvalidConfig, "below /run"},
		{"a socket that climbs", `{"socket":"/run/../tmp/evil.sock"}`, add, cniproto.CodeInvalidConfig, "below /run"},
	} {
		status, printed := called(t, root, row.conf, row.env...)
		if message, _ := printed["msg"].(string); status != 1 || printed["code"] != row.code || !strings.Contains(message, row.want) {
			t.Errorf("%s: %d %v", row.why, status, printed)
		}
	}
	if status, printed := called(t, root, "", "CNI_COMMAND=VERSION"); status != 0 || len(printed["supportedVersions"].([]any)) != 4 {
		t.Errorf("VERSION: %d %v", status, printed)
	}
}

func TestOnlyASocketOfTheExpectedUserIsUsed(t *testing.T) {
	root, target := short(t), short(t)
	listens(t, target, func(r cniproto.Request) any { return cniproto.Response{Version: cniproto.Version, ID: r.ID} })
	dir := filepath.Join(root, "run/cno/toy")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(target, "run/cno/toy/cni.sock"), filepath.Join(dir, "cni.sock")); err != nil {
		t.Fatal(err)
	}
	if status, printed := called(t, root, `{}`, add...); status != 1 || !strings.Contains(printed["details"].(string), "is not a socket") {
		t.Errorf("a link is followed: %d %v", status, printed)
	}
	var out bytes.Buffer
	status := Run(t.Context(), Call{Program: "toy", Env: add, Stdin: strings.NewReader(`{}`), Stdout: &out, owner: os.Geteuid() + 1, root: target, limit: time.Second})
	if status != 1 || !strings.Contains(out.String(), "listens at") {
		t.Errorf("another user's socket is used: %d %s", status, out.String())
	}
}
