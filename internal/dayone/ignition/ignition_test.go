package ignition

import (
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/google/go-cmp/cmp"
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

func TestContentsOfEveryFormAreRead(t *testing.T) {
	ptr := func(s string) *string { return &s }
	for _, c := range []struct {
		why              string
		source, compress *string
		want, err        string
	}{
		{"no content", nil, nil, "", ""},
		{"an empty source", ptr(""), nil, "", ""},
		{"plain", ptr("data:,hello"), nil, "hello", ""},
		{"percent-encoded", ptr("data:text/plain,a%20b%0A"), ptr(""), "a b\n", ""},
		{"base64", ptr("data:text/plain;charset=utf-8;base64,aGVsbG8="), nil, "hello", ""},
		{"compressed", ptr("data:;base64,H4sIAAAAAAAA/8tIzcnJBwCGphA2BQAAAA=="), ptr("gzip"), "hello", ""},
		{"compressed by something else", ptr("data:,x"), ptr("xz"), "", "gzip is the only one"},
		{"not compressed at all", ptr("data:,x"), ptr("gzip"), "", "uncompress"},
		{"cut off", ptr("data:;base64,H4sIAAAAAAAA/8tIzcnJ"), ptr("gzip"), "", "uncompress"},
		{"bad base64", ptr("data:;base64,*"), nil, "", "decode"},
		{"not there", ptr("https://example.com/x"), nil, "", "not here"},
	} {
		got, err := Content(types.Resource{Source: c.source, Compression: c.compress})
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.why, got, err)
		}
	}
}

func TestFilesThatAreNotHereAreNamed(t *testing.T) {
	config, _, err := v3_2.Parse([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[
		{"path":"/a","contents":{"source":"data:,x"}},{"path":"/b","contents":{"source":"https://example.com/x"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	files, err2 := Files(config)
	if d := cmp.Diff([]File{{Path: "/a", Mode: 0o644, Content: []byte("x")}}, files); d != "" {
		t.Error(d)
	}
	if err2 == nil || !strings.Contains(err2.Error(), "/b") {
		t.Errorf("%v", err2)
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
		back, err := Files(config)
		if err != nil {
			t.Fatal(err)
		}
		if len(back) != 1 || string(back[0].Content) != string(content) || back[0].Mode != 0o600 {
			t.Errorf("%q came back as %+v", content, back)
		}
	})
}

func FuzzContent(f *testing.F) {
	for _, s := range []string{"data:,x", "data:;base64,aGVsbG8=", "data:text/plain;charset=\"a;b\",x%2", "DATA:,", "data:x", "http://x"} {
		f.Add(s, "")
		f.Add(s, "gzip")
	}
	f.Fuzz(func(t *testing.T, source, compression string) {
		got, err := Content(types.Resource{Source: &source, Compression: &compression})
		if err == nil && len(got) > MaxContent+len(source) {
			t.Errorf("%d bytes", len(got))
		}
	})
}
