package ignitiontest

import (
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/google/go-cmp/cmp"
)

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
		{"missing", ptr("https://example.com/x"), nil, "", "not here"},
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
