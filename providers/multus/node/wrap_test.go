package node

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/delegate"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

const (
	thirdParty = `{"cniVersion":"1.0.0","name":"calico","plugins":[{"type":"calico"},{"type":"portmap","capabilities":{"portMappings":true}}]}`
	plain      = `{"cniVersion":"0.3.1","name":"old","type":"bridge"}`
)

// runtimeDir is a directory of CNI configurations.
type runtimeDir struct {
	t   *testing.T
	dir string
}

func (d runtimeDir) put(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d runtimeDir) remove(name string) {
	d.t.Helper()
	if err := os.Remove(filepath.Join(d.dir, name)); err != nil {
		d.t.Fatal(err)
	}
}

// inside is the name of the network in the wrapper's file, empty without one.
func (d runtimeDir) inside() string {
	d.t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.dir, wrapperFile))
	if os.IsNotExist(err) {
		return ""
	}
	var list struct {
		Plugins []delegate.Conf `json:"plugins"`
	}
	var own struct{ Name string }
	if err != nil || json.Unmarshal(raw, &list) != nil || len(list.Plugins) != 1 || json.Unmarshal(list.Plugins[0].Delegate, &own) != nil {
		d.t.Fatalf("%v: %s", err, raw)
	}
	return own.Name
}

func TestWrapperUsesTheFileThatRuntimesWouldUse(t *testing.T) {
	wrapped, err := delegate.Wrap([]byte(thirdParty))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why   string
		files map[string]string
		want  string
		err   string
	}{
		{"none yet", nil, "", "no CNI configuration in"},
		{"a list", map[string]string{"10-calico.conflist": thirdParty}, "calico", ""},
		{"a configuration with one plugin", map[string]string{"10-old.conf": plain}, "old", ""},
		{"the first by name", map[string]string{"20-old.conf": plain, "10-calico.conflist": thirdParty}, "calico", ""},
		{"what is not a configuration is skipped", map[string]string{"05-broken.conf": "{", "06-empty.json": "", "07-notes.txt": thirdParty, "08-none.conf": `{"cniVersion":"1.0.0"}`, "10-old.conf": plain}, "old", ""},
		{"a file that starts the shim itself", map[string]string{"10-calico.conflist": string(wrapped), "20-old.conf": plain}, "", ""},
		{"a file that runtimes read before", map[string]string{"00-calico.conflist": thirdParty}, "calico", "read 00-calico.conflist before " + wrapperFile},
	} {
		d := runtimeDir{t, t.TempDir()}
		for name, content := range row.files {
			d.put(name, content)
		}
		err := wrapper{d.dir}.apply()
		if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) || d.inside() != row.want {
			t.Errorf("%s: %q inside, %v", row.why, d.inside(), err)
		}
	}
}

func TestWrapperIsUpdatedAndKept(t *testing.T) {
	d, w := runtimeDir{t, t.TempDir()}, wrapper{}
	w.dir = d.dir
	apply := func(want, problem string) {
		t.Helper()
		err := w.apply()
		if d.inside() != want || (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%q inside, %v; want %q", d.inside(), err, want)
		}
	}
	d.put("10-calico.conflist", thirdParty)
	apply("calico", "")
	d.put("10-calico.conflist", strings.Replace(thirdParty, "calico", "renamed", 1))
	apply("renamed", "")
	// Without its file the network is still the one of pods that start: they would have none of the networks that they ask for otherwise.
	d.remove("10-calico.conflist")
	apply("renamed", "its last one stays active")
	d.put("50-old.conf", plain)
	apply("old", "")
	d.put(wrapperFile, "damaged")
	apply("old", "")
	for range 2 { // it may be repeated
		if err := w.remove(); err != nil {
			t.Fatal(err)
		}
	}
	if d.inside() != "" {
		t.Error("the file is left")
	}
	d.put(wrapperFile, plain) // one that is not the daemon's
	if err := w.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, wrapperFile)); err != nil {
		t.Error(err)
	}
}

func TestDaemonFollowsTheThirdPartyFileAndKeepsItsWrapper(t *testing.T) {
	f := newFixture(t, nil)
	d := runtimeDir{t, t.TempDir()}
	f.Config.ConfDirRuntime, f.board = d.dir, agent.NewBoard(status{}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { f.maintainWrapper(ctx); close(done) }()
	problem := func(want string) {
		t.Helper()
		eventually.Holds(t, "the problem is "+want, func() (string, bool) {
			have := strings.Join(f.board.View().Problems.Sentences(), "; ")
			return have, strings.Contains(have, want) && (have == "") == (want == "")
		})
	}
	problem("yet")
	if f.board.View().Status.wrapped {
		t.Error("it is ready without a pod network")
	}
	d.put("10-calico.conflist", thirdParty)
	problem("")
	if !f.board.View().Status.wrapped || d.inside() != "calico" {
		t.Errorf("%q inside, %+v", d.inside(), f.board.View().Status)
	}
	stop()
	<-done
	if d.inside() != "calico" {
		t.Error("the file ends with the daemon")
	}
}

func TestAPodThatStartedWithoutTheShimIsReportedOnce(t *testing.T) {
	asks := pod("ns", "asks", "u1", map[string]string{wire.AnnotationNetworks: "a"})
	asks.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "192.0.2.1"}
	asksNot := pod("ns", "plain", "u2", nil)
	asksNot.Status = asks.Status
	f := newFixture(t, []*corev1.Pod{asks, asksNot})
	f.saved = func() ([]attach.Saved, error) { return nil, nil }
	for range 2 {
		if err := f.writeMissing(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if e := f.event(); !strings.Contains(e, reasonBypassed) || !strings.Contains(e, "delete it") {
		t.Errorf("event %q", e)
	}
	if e := f.event(); e != "" {
		t.Errorf("another event: %s", e)
	}
}

// TestPodOfAThirdPartyNetworkGetsFurtherNetworks has a runtime use the file that the daemon makes of a third party's, whose network has both IP families.
func TestPodOfAThirdPartyNetworkGetsFurtherNetworks(t *testing.T) {
	plugins := assets.Dir(t, "bridge", "macvlan", "host-local", "static")
	node, sandbox, d := netns.New(t, "node"), netns.New(t, "pod"), runtimeDir{t, t.TempDir()}
	node.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "far0")
	path := t.TempDir()
	for _, name := range []string{"bridge", "macvlan"} {
		script := "#!/bin/sh\nexec nsenter --net=" + node.Path() + " " + filepath.Join(plugins, name) + "\n"
		if err := os.WriteFile(filepath.Join(path, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.put("10-theirs.conflist", `{"cniVersion":"1.0.0","name":"theirs","plugins":[{"type":"bridge","bridge":"br-theirs","isGateway":true,"ipam":{"type":"host-local","dataDir":"`+t.TempDir()+`",`+
		`"ranges":[[{"subnet":"10.210.0.0/24"}],[{"subnet":"fd00:210::/64"}]]}}]}`)
	if err := (wrapper{d.dir}).apply(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(d.dir, wrapperFile))
	if err != nil {
		t.Fatal(err)
	}
	// What a runtime does with the file: the plugin's configuration with name, version and what the capabilities ask for.
	var list struct {
		CNIVersion, Name string
		Plugins          []map[string]any
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	conf := list.Plugins[0]
	conf["cniVersion"], conf["name"] = list.CNIVersion, list.Name
	conf["runtimeConfig"] = map[string]any{delegate.CapabilityAnnotations: map[string]string{wire.AnnotationNetworks: "lan"}}
	config, err := json.Marshal(conf)
	if err != nil {
		t.Fatal(err)
	}
	var reported wire.Report
	shim := attach.Shim{State: t.TempDir(), Run: t.TempDir(), Multus: t.TempDir(), DeviceInfo: t.TempDir(), Now: time.Now, Ask: func(_ context.Context, command string, message, into any) error {
		switch command {
		case wire.CommandReport:
			reported = message.(wire.Report)
			return nil
		case wire.CommandRemoved:
			return nil
		}
		*into.(*wire.Plan) = wire.Plan{Attachments: []wire.Attachment{{Network: "ns/lan", Interface: "net1", List: json.RawMessage(macvlanConfig)}}}
		return nil
	}}
	request := cniproto.Request{Command: cniproto.Add, ContainerID: "c1", NetNS: sandbox.Path(), IfName: "eth0", Path: path + ":" + plugins, Config: config,
		Args: "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=pod;K8S_POD_UID=u1", Timeout: time.Minute}
	out, err := shim.Do(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	result, err := current.NewResult(out)
	if err != nil {
		t.Fatal(err)
	}
	if converted, err := current.NewResultFromResult(result); err != nil || len(converted.IPs) != 2 || !strings.HasPrefix(converted.IPs[1].Address.IP.String(), "fd00:210:") {
		t.Errorf("the result is not the third party's: %s, %v", out, err)
	}
	have := sandbox.Run("ip", "-o", "address")
	for _, want := range []string{"eth0    inet 10.210.0.", "eth0    inet6 fd00:210:", "net1    inet 192.0.2.9/24"} {
		if !strings.Contains(have, want) {
			t.Errorf("%s is missing:\n%s", want, have)
		}
	}
	if len(reported.Networks) != 2 || reported.Networks[0].Name != "theirs" {
		t.Errorf("%+v", reported)
	}
	request.Command = cniproto.Delete
	if _, err := shim.Do(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if have := sandbox.Run("ip", "-o", "link"); strings.Contains(have, "eth0") || strings.Contains(have, "net1") {
		t.Errorf("left:\n%s", have)
	}
}
