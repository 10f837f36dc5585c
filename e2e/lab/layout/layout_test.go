package layout

import (
	"strings"
	"testing"
)

// TestLabsShareProgramsOnly compares all places of two labs of one checkout.
func TestLabsShareProgramsOnly(t *testing.T) {
	places := func(l Layout) map[string]string {
		return map[string]string{
			"run": l.Run(), "lock": l.Lock(), "suite": l.Suite(), "disks": l.Disks(), "control groups": l.Cgroup(), "state": l.State(),
			"images": l.Images(), "certificates": l.PKI(), "kubeconfig": l.Kubeconfig(), "logs": l.Logs(), "record": l.Record(),
			"process": l.Process("cp-0"), "socket": l.Socket("cp-0"), "disk": l.Disk("cp-0"), "conformance": l.Conformance(),
		}
	}
	a, b := Layout{Root: "/checkout"}, Layout{Root: "/checkout", Lab: "b"}
	other := places(b)
	for name, path := range places(a) {
		if path == other[name] || strings.HasPrefix(other[name], path+"/") {
			t.Errorf("%s of the lab without a name is %s, that of another one %s", name, path, other[name])
		}
	}
	if a.Bin() != b.Bin() {
		t.Errorf("programs are in %s and in %s", a.Bin(), b.Bin())
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"": true, "2": true, "b": true, "abcdefgh": true,
		"abcdefghi": false, "B": false, "a-b": false, "../x": false, "a/b": false, " ": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
