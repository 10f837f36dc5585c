package networkmanager

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

func TestADroppedProfileIsNoticedAlthoughAnOlderOneIsThere(t *testing.T) {
	dir := t.TempDir()
	old, staged := filepath.Join(dir, "old", "lan.nmconnection"), filepath.Join(dir, "new", "lan.nmconnection")
	for path, content := range map[string]string{old: "one", staged: "two"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []profile{{file: "lan.nmconnection", uuid: "u", content: "two"}}
	if got := unread([]nmdbus.Profile{{UUID: "u", File: old}}, want); len(got) != 1 {
		t.Error("the older profile of the same UUID counts as the new one")
	}
	if got := unread([]nmdbus.Profile{{UUID: "u", File: staged}}, want); len(got) != 0 {
		t.Errorf("%+v is not noticed", got)
	}
}

func TestNetworkManagersReaderGivesTheReason(t *testing.T) {
	out, err := exec.Command("../../../../hack/networkmanager.sh").Output()
	if err != nil {
		t.Fatalf("hack/networkmanager.sh: %v", err)
	}
	command := strings.TrimSpace(string(out))
	file := "[connection]\nid=lo\ntype=loopback\nuuid=d9edbeeb-1111-4111-8111-111111111111\ninterface-name=lo\n\n[ipv4]\nmethod=manual\naddress0=127.0.0.1/8\n\n[ipv6]\nmethod="
	if got := dropReason(t.Context(), command, file+"disabled\n"); got != `ipv6.method: ipv6 method "disabled" is not supported for loopback` {
		t.Errorf("the reason is %q", got)
	}
	if got := dropReason(t.Context(), command, file+"manual\naddress0=::1/128\n"); got != "" {
		t.Errorf("a file that is read has the reason %q", got)
	}
	if got := dropReason(t.Context(), "/no/such/command", file); got != "" {
		t.Errorf("a host without the command has the reason %q", got)
	}
}
