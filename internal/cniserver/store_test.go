package cniserver

import (
	"net"
	"os"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"
)

// stored is the file of an attachment in format 1. It is written by the agents of all releases so far: a change of this text needs another format, and code that
// reads this one.
const stored = `{"format":1,"call":{"plugin":"cno-cni","network":"pods","containerID":"c1","netns":"/run/netns/a","ifname":"eth0",` +
	`"args":{"K8S_POD_NAME":"web","K8S_POD_NAMESPACE":"shop","K8S_POD_UID":"u1"},"config":{"type":"cno-cni"}},` +
	`"result":{"cniVersion":"1.1.0","interfaces":[{"name":"eth0","sandbox":"/run/netns/a"}],"ips":[{"address":"10.128.0.5/23","interface":0}]},"netnsID":"4:4026532177"}
`

// TestFormatOfRecords: pods keep running while the agent of their node is replaced by that of another release, which must be able to remove them.
func TestFormatOfRecords(t *testing.T) {
	zero := 0
	want := record{
		Format: 1,
		Call: Call{Plugin: "cno-cni", Network: "pods", ContainerID: "c1", NetNS: "/run/netns/a", IfName: "eth0", Config: []byte(`{"type":"cno-cni"}`),
			Args: map[string]string{"K8S_POD_NAMESPACE": "shop", "K8S_POD_NAME": "web", "K8S_POD_UID": "u1"}},
		Result: &current.Result{CNIVersion: "1.1.0", Interfaces: []*current.Interface{{Name: "eth0", Sandbox: "/run/netns/a"}},
			IPs: []*current.IPConfig{{Interface: &zero, Address: net.IPNet{IP: net.IPv4(10, 128, 0, 5), Mask: net.CIDRMask(23, 32)}}}},
		NetNSID: "4:4026532177",
	}
	s := store{t.TempDir()}
	if err := s.put(want); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(s.file("c1/eth0"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, string(written)); diff != "" {
		t.Errorf("the format has changed:\n%s", diff)
	}
	if err := os.WriteFile(s.file("c1/eth0"), []byte(stored), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := s.get("c1/eth0")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, read); diff != "" {
		t.Error(diff)
	}
}

// TestRecordsOfUnknownFormats: the record of a later release is kept beside the others and reported, not read as far as it happens to fit.
func TestRecordsOfUnknownFormats(t *testing.T) {
	s := store{t.TempDir()}
	if err := os.WriteFile(s.file("c1/eth0"), []byte(`{"format":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := s.all()
	if len(records) != 0 || err == nil {
		t.Errorf("records %v, error %v", records, err)
	}
	if _, err := os.Stat(s.file("c1/eth0") + damaged); err != nil {
		t.Error(err)
	}
}
