package ovs_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

func TestPrepareDatabase(t *testing.T) {
	const schema = "/usr/share/openvswitch/vswitch.ovsschema"
	for _, row := range []struct {
		why    string
		change func(content []byte) []byte
		// replaced is true if the database is empty afterwards, and the former file is kept.
		replaced bool
	}{
		{"a database that is whole keeps its content", func(content []byte) []byte { return content }, false},
		{"nothing was written before the power failed", func([]byte) []byte { return nil }, true},
		{"the last record was not written completely", func(content []byte) []byte { return content[:len(content)-10] }, true},
		{"the first record was not written completely", func(content []byte) []byte { return content[:100] }, true},
		{"a record is damaged", func(content []byte) []byte { copy(content[200:], "damaged"); return content }, true},
		{"something else is in the file", func([]byte) []byte { return []byte("something else\n") }, true},
	} {
		file := filepath.Join(t.TempDir(), "data", "conf.db")
		prepare := func() {
			t.Helper()
			if err := ovs.PrepareDatabase(t.Context(), file, schema, slog.New(slog.DiscardHandler)); err != nil {
				t.Fatalf("%s: %v", row.why, err)
			}
		}
		prepare()
		netns.Run(t, "ovsdb-tool", "transact", file, `["Open_vSwitch", {"op": "insert", "table": "Open_vSwitch", "row": {"external_ids": ["map", [["kept", "yes"]]]}}]`)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := row.change(content)
		// A process that was killed during a conversion leaves its output.
		for name, data := range map[string][]byte{file: changed, file + ".tmp": []byte("incomplete")} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		prepare()
		rows := netns.Run(t, "ovsdb-tool", "query", file, `["Open_vSwitch", {"op": "select", "table": "Open_vSwitch", "where": []}]`)
		if kept := strings.Contains(rows, "kept"); kept == row.replaced {
			t.Errorf("%s: the rows are %s", row.why, rows)
		}
		aside, err := os.ReadFile(file + ".unreadable")
		if row.replaced && string(aside) != string(changed) || !row.replaced && !os.IsNotExist(err) {
			t.Errorf("%s: the file set aside has %d bytes, %v", row.why, len(aside), err)
		}
	}
}

// TestDatabaseIsNotReplacedWithoutReason: a conversion also fails for reasons outside of the file.
func TestDatabaseIsNotReplacedWithoutReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), "conf.db")
	log := slog.New(slog.DiscardHandler)
	if err := ovs.PrepareDatabase(t.Context(), file, "/usr/share/openvswitch/vswitch.ovsschema", log); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := ovs.PrepareDatabase(t.Context(), file, filepath.Join(t.TempDir(), "missing.ovsschema"), log); err == nil || !strings.Contains(err.Error(), "missing.ovsschema") {
		t.Errorf("without a schema: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the database is another one: %v", err)
	}
}
