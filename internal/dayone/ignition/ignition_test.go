package ignition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/ignition/ignitiontest"
)

func TestAConfigurationHasTheShapeThatHostsExpect(t *testing.T) {
	got, err := Marshal(Config([]File{
		{Path: "/etc/NetworkManager/system-connections/eth0.nmconnection", Mode: 0o600, Content: []byte("[connection]\nid=eth0\naddress0=fd00::1/64\n")},
		{Path: "/etc/empty", Mode: 0o644},
	}))
	if err != nil {
		t.Fatal(err)
	}
	// Modes are decimal, contents percent-encoded, and there is nothing that was not asked for.
	const want = `{"ignition":{"version":"3.2.0"},"storage":{"files":[` +
		`{"contents":{"source":"data:text/plain,%5Bconnection%5D%0Aid%3Deth0%0Aaddress0%3Dfd00%3A%3A1%2F64%0A"},"mode":384,"overwrite":true,"path":"/etc/NetworkManager/system-connections/eth0.nmconnection"},` +
		`{"contents":{"source":"data:text/plain,"},"mode":420,"overwrite":true,"path":"/etc/empty"}]}}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestMistakesAreFoundByIgnitionsOwnRules(t *testing.T) {
	for _, c := range []struct {
		why   string
		files []File
		want  string
	}{
		{"a path that is not absolute", []File{{Path: "etc/x"}}, "path not absolute"},
		{"a path twice", []File{{Path: "/x"}, {Path: "/x"}}, "duplicate entry"},
		{"a mode that is none", []File{{Path: "/x", Mode: 0o777777}}, "illegal file mode"},
	} {
		if _, err := Marshal(Config(c.files)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}

func TestAFileOfTheSamePathIsReplacedAsAWhole(t *testing.T) {
	const base = `{"ignition":{"version":"3.1.0"},
		"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]},
		"storage":{"files":[
			{"path":"/etc/x","user":{"id":7},"contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAA/8tIzcnJBwCGphA2BQAAAA=="}},
			{"path":"/etc/kept","contents":{"source":"data:,kept"}}]},
		"systemd":{"units":[{"name":"agent.service","enabled":true,"contents":"[Service]\nExecStart=/bin/agent\n"}]}}`
	parsed, warnings, err := Parse([]byte(base))
	if err != nil {
		t.Fatal(err, warnings)
	}
	got, err := Marshal(Merge(parsed, Config([]File{{Path: "/etc/x", Mode: 0o600, Content: []byte("new")}})))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"ignition":{"version":"3.2.0"},` +
		`"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["ssh-ed25519 AAAA"]}]},` +
		`"storage":{"files":[{"contents":{"source":"data:,kept"},"path":"/etc/kept"},{"contents":{"source":"data:text/plain,new"},"mode":384,"overwrite":true,"path":"/etc/x"}]},` +
		`"systemd":{"units":[{"contents":"[Service]\nExecStart=/bin/agent\n","enabled":true,"name":"agent.service"}]}}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(parsed.Storage.Files) != 2 || *parsed.Storage.Files[0].User.ID != 7 {
		t.Error("merging changed the base")
	}
}

func TestWhatIsNoConfigurationIsRefusedWithTheReason(t *testing.T) {
	for why, c := range map[string]struct{ data, want string }{
		"nothing":               {"", "not an Ignition configuration"},
		"no JSON":               {"storage:", "not an Ignition configuration"},
		"no version":            {"{}", "not an Ignition configuration"},
		"a newer version":       {`{"ignition":{"version":"3.4.0"}}`, "version"},
		"the version 2":         {`{"ignition":{"version":"2.2.0"}}`, "version"},
		"a mistake in the file": {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"x"}]}}`, "path not absolute"},
	} {
		if _, _, err := Parse([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", why, err, c.want)
		}
	}
	_, warnings, err := Parse([]byte(`{"ignition":{"version":"3.2.0"},"typo":1}`))
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "typo") {
		t.Errorf("an unknown key is a warning: %v, %v", warnings, err)
	}
}

func FuzzDataURL(f *testing.F) {
	f.Add([]byte("[connection]\nid=eth0\n"))
	f.Add([]byte{0, 255, '%', '+'})
	f.Fuzz(func(t *testing.T, content []byte) {
		files := []File{{Path: "/x", Mode: 0o600, Content: content}}
		data, err := Marshal(Config(files))
		if err != nil {
			t.Fatal(err)
		}
		config, _, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ignitiontest.Files(config)
		if err != nil {
			t.Fatal(err)
		}
		if len(back) != 1 || string(back[0].Content) != string(content) || back[0].Mode != 0o600 {
			t.Errorf("%q came back as %+v", content, back)
		}
	})
}
