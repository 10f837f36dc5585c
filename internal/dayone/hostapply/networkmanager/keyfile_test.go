package networkmanager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wired = `[connection]
autoconnect=true
id=enp2s0
type=802-3-ethernet
uuid=1b2c

[ipv4]
address0=192.168.111.110/24
method=manual

[ethernet]
`

func TestKeyfileIsWrittenAsItWasRead(t *testing.T) {
	for name, text := range map[string]string{"a profile with an empty section": wired, "nothing": ""} {
		if diff := cmp.Diff(text, parseKeyfile(text).String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestKeyfileEdits(t *testing.T) {
	k := parseKeyfile(wired)
	k.set("connection", "autoconnect-priority", "100") // between two keys
	k.set("connection", "id", "other")                 // one that is there
	k.set("tun", "mode", "2")                          // a new section
	k.remove("ipv4", "address0")
	k.remove("ipv6", "method") // missing
	k.drop("ethernet", "bond")
	want := `[connection]
autoconnect=true
autoconnect-priority=100
id=other
type=802-3-ethernet
uuid=1b2c

[ipv4]
method=manual

[tun]
mode=2
`
	if diff := cmp.Diff(want, k.String()); diff != "" {
		t.Error(diff)
	}
	if got := k.get("connection", "type"); got != "802-3-ethernet" {
		t.Errorf("the type is read as %q", got)
	}
	if got := k.get("bond", "mode"); got != "" {
		t.Errorf("a missing key is read as %q", got)
	}
}
