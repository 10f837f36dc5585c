package attach

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// TestDeviceInformationIsPublished: that of the device plugin, and that of a CNI plugin which declares the capability, whose file is removed with the pod.
func TestDeviceInformationIsPublished(t *testing.T) {
	const fromPlugin = `{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:00:01.0"}}`
	list := func(capability string) json.RawMessage {
		return json.RawMessage(`{"cniVersion":"1.0.0","name":"a","plugins":[{"type":"further","capabilities":{"` + capability + `":true}}]}`)
	}
	for _, row := range []struct {
		why, capability, devicePlugin, body, want, failure string
	}{
		{"the device plugin has written it", "mac", fromPlugin, "", fromPlugin, ""},
		{"... and the CNI plugin gets a copy", capabilityDeviceInfo, fromPlugin, `grep -q 0000:00:01.0 $FILE || exit 1`, fromPlugin, ""},
		{"the CNI plugin writes it", capabilityDeviceInfo, "", `echo '{"type":"vhost-user","version":"1.1.0"}' >$FILE`, `{"type":"vhost-user","version":"1.1.0"}`, ""},
		{"no one does", capabilityDeviceInfo, "", "", "", ""},
		{"the CNI plugin writes something else", capabilityDeviceInfo, "", `echo '{"type":"pci"}' >$FILE`, "", "type or version is missing"},
		{"the CNI plugin writes too much", capabilityDeviceInfo, "", `head -c 70000 /dev/zero >$FILE`, "", "at most 65536 bytes"},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := newFixture(t)
			file := filepath.Join(f.shim.DeviceInfo, "cni", "ns-a-c1_net1")
			f.scripted(scripts, `FILE=`+file+`
[ "$call" = "ADD net1" ] && { `+row.body+"\n:; }")
			f.plan.Attachments = []wire.Attachment{{Network: "ns/a", Interface: "net1", List: list(row.capability), Resource: "example.com/nic", DeviceID: "0000:00:01.0"}}
			if row.devicePlugin != "" {
				dp := filepath.Join(f.shim.DeviceInfo, "dp", "example.com-nic-0000:00:01.0-device.json")
				if err := os.MkdirAll(filepath.Dir(dp), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(dp, []byte(row.devicePlugin), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := f.do(cniproto.Add, annotated)
			if row.failure != "" {
				if err == nil || !strings.Contains(err.Error(), row.failure) {
					t.Errorf("%v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else if got := strings.TrimSpace(string(f.reports[0].Networks[1].DeviceInfo)); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
			f.must(cniproto.Delete, annotated)
			if _, err := os.Stat(file); err == nil {
				t.Error("the file stays")
			}
		})
	}
}
