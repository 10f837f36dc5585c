package attach

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
)

// TestAttachmentsOfMultusAreRemoved: a node had Multus, and its pods run.
func TestAttachmentsOfMultusAreRemoved(t *testing.T) {
	f := newFixture(t)
	calls := recorded(f)
	list := func(name string) string {
		return base64.StdEncoding.EncodeToString([]byte(`{"cniVersion":"1.0.0","name":"` + name + `","plugins":[{"type":"further","capabilities":{"mac":true,"ips":true}}]}`))
	}
	one := base64.StdEncoding.EncodeToString([]byte(`{"cniVersion":"0.3.1","name":"single","type":"further"}`))
	file := filepath.Join(f.shim.Multus, "c1")
	write := func(content string) {
		t.Helper()
		if err := os.MkdirAll(f.shim.Multus, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf(`[{"Conf":{},"ConfList":{"name":"pods"},"Name":"pods","IsFilterV4Gateway":false,"Bytes":%q},
		{"ConfList":{"name":"a"},"Name":"ns/a","ifnameRequest":"data","macRequest":"02:00:00:00:00:01","ipRequest":["192.0.2.9/24"],"Bytes":%q},
		{"Conf":{"name":"single"},"Name":"ns/single","Bytes":%q}]`, list("pods"), list("a"), one))
	f.must(cniproto.Delete, annotated)
	want := []passed{
		{"DEL net2", "c1", "single", "0.3.1", nil},
		{"DEL data", "c1", "a", "1.0.0", map[string]any{"mac": "02:00:00:00:00:01", "ips": []any{"192.0.2.9/24"}}},
		{"DEL eth0", "c1", "pods", "1.0.0", nil},
	}
	if diff := cmp.Diff(want, calls()); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file of Multus stays: %v", err)
	}
	f.must(cniproto.Delete, annotated) // which may be repeated

	write(`[{"Name":`)
	if _, err := f.do(cniproto.Delete, annotated); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that cannot be read is no error: %v", err)
	}
	write(fmt.Sprintf(`[{"Name":"pods","Bytes":%q},{"Name":"ns/a","Bytes":%q}]`, list("pods"), base64.StdEncoding.EncodeToString([]byte(`{"cniVersion":"1.0.0","name":"x","plugins":[{"type":"missing"}]}`))))
	if _, err := f.do(cniproto.Delete, annotated); err == nil || !strings.Contains(err.Error(), `no CNI plugin "missing"`) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("what is not removed yet is dropped: %v", err)
	}
}
