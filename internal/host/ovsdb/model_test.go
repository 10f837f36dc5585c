package ovsdb

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

type failMode string

type port struct {
	UUID       UUID   `ovsdb:"_uuid"`
	Name       string `ovsdb:"name"`
	Interfaces []UUID `ovsdb:"interfaces"`
	Tag        *int   `ovsdb:"tag"`
	Trunks     []int  `ovsdb:"trunks"`
	FakeBridge bool   `ovsdb:"fake_bridge"`
}

type bridge struct {
	UUID        UUID              `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Ports       []UUID            `ovsdb:"ports"`
	FailMode    *failMode         `ovsdb:"fail_mode"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
	Tables      map[int]UUID      `ovsdb:"flow_tables"`
	Note        string            `ovsdb:"-"`
}

type iface struct {
	Name string `ovsdb:"name"`
	MTU  *int   `ovsdb:"mtu_request"`
}

var (
	bridges    = MustModel[bridge]("Bridge")
	ports      = MustModel[port]("Port")
	interfaces = MustModel[iface]("Interface")
)

// columnsOf returns columns of a value.
func columnsOf[T any](t *testing.T, m Model[T], value T, names ...string) map[string]any {
	t.Helper()
	row, err := m.Row(value, names...)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestTypedRowsRoundTrip(t *testing.T) {
	socket := server(t)
	c := NewCache(db, Columns(bridges, ports, interfaces), nil)
	s := &Session{Endpoints: []Endpoint{Unix(socket)}, Database: db, Tables: []Table{bridges, ports, interfaces}, Serve: c.Watch}
	running(t, s)
	tag, mtu, mode := 7, 1400, failMode("secure")
	b := bridge{Name: "br-ex", Ports: []UUID{"p"}, FailMode: &mode, ExternalIDs: map[string]string{"a": "1", "b": ""}}
	p := port{Name: "br-ex", Interfaces: []UUID{"i"}, Tag: &tag, Trunks: []int{10, 20, 10}, FakeBridge: true}
	i := iface{Name: "br-ex", MTU: &mtu}
	results, err := s.after(t, nil).Transact(t.Context(), db,
		Insert("Interface", "i", columnsOf(t, interfaces, i)), Insert("Port", "p", columnsOf(t, ports, p)),
		Insert("Bridge", "b", columnsOf(t, bridges, b, "name", "ports", "fail_mode", "external_ids")), Insert("Open_vSwitch", "", map[string]any{"bridges": UUID("b")}))
	if err != nil {
		t.Fatal(err)
	}
	eventually.Is(t, "the cache has the bridge", func() bool { return c.Snapshot().Len("Bridge") > 0 })
	p.UUID, p.Interfaces, p.Trunks = results[1].UUID, []UUID{results[0].UUID}, []int{10, 20}
	b.UUID, b.Ports = results[2].UUID, []UUID{p.UUID}
	gotB, errB := bridges.Rows(c.Snapshot())
	gotP, errP := ports.Rows(c.Snapshot())
	gotI, errI := interfaces.Rows(c.Snapshot())
	got, want := []any{gotB, gotP, gotI, errB, errP, errI}, []any{map[UUID]bridge{b.UUID: b}, map[UUID]port{p.UUID: p}, map[UUID]iface{results[0].UUID: i}, nil, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSchemasThatDoNotFitAreNamedCompletely(t *testing.T) {
	type other struct {
		Name   *string           `ovsdb:"name"`
		Mode   string            `ovsdb:"fail_mode"`
		IDs    map[string]int    `ovsdb:"external_ids"`
		Ports  []string          `ovsdb:"ports"`
		Colour string            `ovsdb:"colour"`
		Config map[string]string `ovsdb:"other_config"`
	}
	reports := make(chan error, 1)
	s := &Session{Endpoints: []Endpoint{Unix(server(t))}, Database: db, Tables: []Table{MustModel[other]("Bridge"), MustModel[iface]("Ship"), ports},
		Report: func(_ Endpoint, err error) {
			select {
			case reports <- err:
			default:
			}
		}}
	running(t, s)
	err := <-reports
	for _, text := range []string{
		"table Bridge: column name has the type string, the client expects optional string",
		"table Bridge: column fail_mode has the type optional string, the client expects string",
		"table Bridge: column external_ids has the type map of string to string, the client expects map of string to integer",
		"table Bridge: column ports has the type set of uuid, the client expects set of string",
		"table Bridge: column colour is missing", "table Ship is missing",
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
	if strings.Contains(err.Error(), "Port:") || strings.Contains(err.Error(), "other_config") {
		t.Errorf("what fits is named: %v", err)
	}
}

func TestStructsThatNoTableHas(t *testing.T) {
	//nolint:unused // Fields that are not exported are refused.
	type invalid struct {
		Plain string
		Name  string     `ovsdb:"name"`
		Again string     `ovsdb:"name"`
		Deep  [][]string `ovsdb:"deep"`
		Wide  int8       `ovsdb:"wide"`
		hid   string     `ovsdb:"hid"`
	}
	_, err := NewModel[invalid]("T")
	for _, text := range []string{"field Plain has no tag", "field Again: another field", "field Deep: columns cannot have the type [][]string", "field Wide", "field hid is not exported"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
	if _, err := NewModel[string]("T"); err == nil {
		t.Error("a string is accepted as a struct")
	}
}

func TestRowsAreDecodedStrictly(t *testing.T) {
	good := func() Row {
		return Row{"name": json.RawMessage(`"eth0"`), "mtu_request": json.RawMessage(`["set",[]]`)}
	}
	if got, err := interfaces.Decode(good()); err != nil || got != (iface{Name: "eth0"}) {
		t.Errorf("a valid row: %v, %v", got, err)
	}
	for _, tt := range []struct{ reason, column, value, want string }{
		{"another type", "name", `7`, "column name: 7 is not of type string"},
		{"null", "name", `null`, "column name: null is not"},
		{"no value where one is required", "name", `["set",[]]`, "0 values"},
		{"two values where one is allowed", "mtu_request", `["set",[1,2]]`, "2 values in a column of type optional integer"},
		{"the same value twice", "mtu_request", `["set",[1,1]]`, "1 occurs twice"},
		{"a fraction", "mtu_request", `1.5`, "not of type integer"},
		{"more than 64 bits", "mtu_request", `9223372036854775808`, "not of type integer"},
		{"a map", "name", `["map",[]]`, "not of type string"},
	} {
		row := good()
		row[tt.column] = json.RawMessage(tt.value)
		if _, err := interfaces.Decode(row); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
	if _, err := interfaces.Decode(Row{}); err == nil || !strings.Contains(err.Error(), "column name is missing") || !strings.Contains(err.Error(), "mtu_request") {
		t.Errorf("an empty row: %v", err)
	}
}

func TestRowsThatCannotBeWritten(t *testing.T) {
	type reals struct {
		Load []float64 `ovsdb:"load"`
	}
	m := MustModel[reals]("T")
	if _, err := m.Row(reals{Load: []float64{1, math.Inf(1)}}); err == nil || !strings.Contains(err.Error(), "column load: +Inf") {
		t.Error(err)
	}
	if _, err := m.Row(reals{}, "lode"); err == nil || !strings.Contains(err.Error(), "column lode is not one of the model") {
		t.Error(err)
	}
}
