package ovsdb

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func dial(t *testing.T, socket string) *Client {
	t.Helper()
	c, err := Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

const db = "Open_vSwitch"

func TestRowsRoundTrip(t *testing.T) {
	c := dial(t, server(t))
	results, err := c.Transact(t.Context(), db,
		Insert("Interface", "i", map[string]any{"name": "br-ex", "type": "internal", "mtu_request": 1400}),
		Insert("Port", "p", map[string]any{"name": "br-ex", "interfaces": Named("i"), "trunks": Set{10, 20}, "tag": 7}),
		Insert("Bridge", "b", map[string]any{"name": "br-ex", "ports": Set{Named("p")}, "stp_enable": true,
			"external_ids": Map{"b": "2", "a": "1"}, "other_config": Map(nil), "fail_mode": "standalone"}),
		Insert("Open_vSwitch", "", map[string]any{"bridges": Set{Named("b")}}))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Transact(t.Context(), db,
		Select("Bridge", []string{"_uuid", "name", "ports", "stp_enable", "external_ids", "other_config", "fail_mode"}, Equal("name", "br-ex")),
		Select("Port", []string{"interfaces", "trunks", "tag", "bond_mode"}),
		Select("Interface", []string{"mtu_request"}))
	if err != nil {
		t.Fatal(err)
	}
	bridge, port := rows[0].Rows[0], rows[1].Rows[0]
	got := []any{bridge.UUID("_uuid"), bridge.Text("name"), bridge.UUIDs("ports"), bridge.Bool("stp_enable"), bridge.Map("external_ids"),
		bridge.Map("other_config"), bridge.Strings("fail_mode"), port.UUIDs("interfaces"), port.Ints("trunks"), port.Int("tag"), port.Text("bond_mode"),
		rows[2].Rows[0].Int("mtu_request")}
	want := []any{results[2].UUID, "br-ex", []UUID{results[1].UUID}, true, map[string]string{"a": "1", "b": "2"},
		map[string]string(nil), []string{"standalone"}, []UUID{results[0].UUID}, []int{10, 20}, 7, "", 1400}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefusedTransactionChangesNothingAndNamesTheOperation(t *testing.T) {
	c := dial(t, server(t))
	_, err := c.Transact(t.Context(), db,
		Insert("Open_vSwitch", "", map[string]any{"external_ids": Map{"kept": "no"}}),
		Update("Bridge", map[string]any{"no_such_column": 1}))
	if err == nil || !strings.Contains(err.Error(), "update Bridge") || !strings.Contains(err.Error(), "no_such_column") {
		t.Errorf("error is %v", err)
	}
	rows, err := c.Transact(t.Context(), db, Select("Open_vSwitch", []string{"external_ids"}))
	if err != nil || len(rows[0].Rows) != 0 {
		t.Errorf("after a refused transaction: %v, %v", rows, err)
	}
	// The server checks references only when it commits; that result is one more than there are operations.
	_, err = c.Transact(t.Context(), db, Insert("Open_vSwitch", "", map[string]any{"bridges": UUID("00000000-0000-0000-0000-000000000001")}))
	if err == nil || !strings.Contains(err.Error(), "commit") {
		t.Errorf("error of the commit is %v", err)
	}
}

func TestMonitorReportsEveryChangeAndTheEnd(t *testing.T) {
	socket := server(t)
	watcher, writer := dial(t, socket), dial(t, socket)
	if _, err := writer.Transact(t.Context(), db, Insert("Open_vSwitch", "", map[string]any{"next_cfg": 1})); err != nil {
		t.Fatal(err)
	}
	initial, changed, err := watcher.Monitor(t.Context(), db, map[string][]string{"Open_vSwitch": {"next_cfg"}})
	if err != nil || len(initial["Open_vSwitch"]) != 1 {
		t.Fatalf("monitor: %v, %v", initial, err)
	}
	if _, err := writer.Transact(t.Context(), db, Mutate("Open_vSwitch", "next_cfg", "+=", 1)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("no word of a change")
	}
	_ = watcher.Close()
	select {
	case _, open := <-changed:
		if open {
			t.Error("a change is reported after the end")
		}
	case <-time.After(time.Minute):
		t.Fatal("the channel is not closed")
	}
	if _, err := watcher.Transact(t.Context(), db); !errors.Is(err, ErrClosed) {
		t.Errorf("call after Close: %v", err)
	}
}

func TestEmptyAndForeignColumnsAreZero(t *testing.T) {
	row := Row{"set": json.RawMessage(`["set",[]]`), "text": json.RawMessage(`"x"`), "pair": json.RawMessage(`["a","b"]`)}
	got := []any{row.Text("none"), row.Int("text"), row.Strings("set"), row.Map("text"), row.UUIDs("pair"), row.Bool("set")}
	want := []any{"", 0, []string(nil), map[string]string(nil), []UUID(nil), false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
