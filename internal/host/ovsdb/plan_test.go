package ovsdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const northbound = "OVN_Northbound"

// world is a northbound database with a cache, and a writer that plans.
type world struct {
	t      testing.TB
	client *Client
	schema Schema
	cache  *Cache
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := standalone(t, "/usr/share/ovn/ovn-nb.ovsschema")
	s.start()
	w := &world{t: t}
	var err error
	if w.client, err = Dial(t.Context(), s.socket); err != nil {
		t.Fatal(err)
	}
	reader, err := Dial(t.Context(), s.socket)
	if err != nil {
		t.Fatal(err)
	}
	if w.schema, err = w.client.Schema(t.Context(), northbound); err != nil {
		t.Fatal(err)
	}
	w.cache = NewCache(northbound, map[string][]string{"Logical_Switch": nil, "Logical_Switch_Port": nil, "ACL": nil, "Port_Group": nil,
		"Load_Balancer": nil, "Load_Balancer_Group": nil}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = w.cache.Watch(ctx, reader); close(done) }()
	t.Cleanup(func() { cancel(); <-done; _ = reader.Close(); _ = w.client.Close() })
	<-w.cache.Synced()
	return w
}

// plan plans with a snapshot that has everything that was written.
func (w *world) plan(owner string, desired []Desired) []Operation {
	w.t.Helper()
	operations, err := Plan(w.schema, owner, desired, w.snapshot())
	if err != nil {
		w.t.Fatal(err)
	}
	return operations
}

// snapshot waits until the cache has a row that is written now.
func (w *world) snapshot() Snapshot {
	w.t.Helper()
	results := w.commit(Insert("Port_Group", "", map[string]any{"name": fmt.Sprintf("mark_%d", rand.Int64())}))
	id := results[0].UUID
	for {
		s := w.cache.Snapshot()
		if s.Row("Port_Group", id) != nil {
			w.commit(Delete("Port_Group", Is(id)))
			return s
		}
	}
}

func (w *world) commit(operations ...Operation) []Result {
	w.t.Helper()
	results, err := w.client.Transact(w.t.Context(), northbound, operations...)
	if err != nil {
		w.t.Fatal(err)
	}
	return results
}

// apply makes the database as desired, and checks that nothing is left to do.
func (w *world) apply(owner string, desired []Desired) int {
	w.t.Helper()
	operations := w.plan(owner, desired)
	w.commit(operations...)
	if again := w.plan(owner, desired); len(again) > 0 {
		w.t.Fatalf("after the plan was carried out, there is left %v", again)
	}
	return len(operations)
}

func switchPort(name, address string) Desired {
	return Desired{Ref{"Logical_Switch_Port", name}, map[string]any{"name": name, "addresses": Set{address}, "enabled": true, "options": Map{"mtu": "1400"}}}
}

func logicalSwitch(name string, ports ...string) Desired {
	refs := Set{}
	for _, p := range ports {
		refs = append(refs, Ref{"Logical_Switch_Port", p})
	}
	return Desired{Ref{"Logical_Switch", name}, map[string]any{"name": name, "ports": refs, "external_ids": Map{"node": name}}}
}

func TestPlan(t *testing.T) {
	w := newWorld(t)
	w.commit(Insert("Logical_Switch_Port", "p", map[string]any{"name": "foreign"}),
		Insert("Logical_Switch", "", map[string]any{"name": "foreign", "ports": Set{Named("p")}, "external_ids": Map{ownerMark: "another", keyMark: "node1"}}))
	desired := []Desired{logicalSwitch("node1", "a", "b"), switchPort("a", "0a:58:0a:00:00:05 10.0.0.5"), switchPort("b", "0a:58:0a:00:00:06 10.0.0.6")}
	if n := w.apply("master", desired); n != 3 {
		t.Errorf("%d operations insert three rows", n)
	}
	for _, tt := range []struct {
		reason string
		change func()
		want   int // operations
	}{
		{"nothing changes", func() {}, 0},
		{"the order of desired rows has no meaning", func() { slices.Reverse(desired) }, 0},
		{"another address", func() { desired[0] = switchPort("b", "0a:58:0a:00:00:07 10.0.0.7") }, 1},
		{"a row that a third party changed", func() {
			w.commit(Update("Logical_Switch_Port", map[string]any{"enabled": false}, Equal("name", "a")))
		}, 1},
		{"a column that is not desired is not compared", func() {
			w.commit(Update("Logical_Switch_Port", map[string]any{"tag": 7}, Equal("name", "a")))
		}, 0},
		{"a row that a third party deleted", func() {
			w.commit(Mutate("Logical_Switch", "ports", "delete", w.ids("Logical_Switch_Port", "a"), Equal("name", "node1")))
		}, 2}, // insert the port, and refer to it
		{"a copy", func() {
			w.commit(Insert("Logical_Switch", "", map[string]any{"name": "copy", "external_ids": Map{ownerMark: "master", keyMark: "node1"}}))
		}, -1}, // which of the two is kept depends on their UUIDs
		{"a port less: the switch no longer refers to it, and it is deleted", func() {
			desired = []Desired{logicalSwitch("node1", "a"), switchPort("a", "0a:58:0a:00:00:05 10.0.0.5")}
		}, 2},
		{"nothing is desired", func() { desired = nil }, 2},
	} {
		tt.change()
		if n := w.apply("master", desired); n != tt.want && tt.want >= 0 {
			t.Errorf("%s: %d operations, want %d", tt.reason, n, tt.want)
		}
	}
	s := w.snapshot()
	if s.Len("Logical_Switch") != 1 || s.Len("Logical_Switch_Port") != 1 {
		t.Errorf("rows of others: %d switches and %d ports are left of one each", s.Len("Logical_Switch"), s.Len("Logical_Switch_Port"))
	}
}

// ids are the UUIDs of the rows with a name.
func (w *world) ids(table, name string) Set {
	w.t.Helper()
	var out Set
	for _, row := range w.commit(Select(table, []string{"_uuid"}, Equal("name", name)))[0].Rows {
		out = append(out, row.UUID("_uuid"))
	}
	return out
}

func TestPlanNamesEveryRowThatTheSchemaDoesNotAdmit(t *testing.T) {
	w := newWorld(t)
	_, err := Plan(w.schema, "master", []Desired{
		{Ref{"Ship", "x"}, nil},
		{Ref{"NB_Global", "x"}, map[string]any{"colour": 1}},
		{Ref{"Logical_Switch", "a"}, map[string]any{"name": 7, "ports": Ref{"Logical_Switch_Port", "none"}}},
		{Ref{"Logical_Switch", "b"}, map[string]any{"external_ids": "x"}},
		{Ref{"Logical_Switch", "c"}, nil}, {Ref{"Logical_Switch", "c"}, nil},
		switchPort("alone", ""),
	}, Snapshot{})
	if err == nil {
		t.Fatal("all of it is accepted")
	}
	for _, text := range []string{
		`Ship "x": the schema has no table of that name`, `NB_Global "x": column colour: the schema does not have it`, `Logical_Switch "a": column name: 7 is not of type string`,
		`Logical_Switch "a": column ports: it refers to Logical_Switch_Port "none", which is not desired`, `Logical_Switch "b": column external_ids is not a Map`,
		`Logical_Switch "c" is desired twice`, `Logical_Switch_Port "alone": no desired row refers to it`,
	} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q:\n%v", text, err)
		}
	}
}

// TestPlansConverge goes from one random set of rows to another, while a third party disturbs.
func TestPlansConverge(t *testing.T) {
	w := newWorld(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		var desired []Desired
		for n := range random.IntN(4) {
			var ports []string
			for p := range random.IntN(5) {
				name := fmt.Sprintf("p%d-%d", n, p)
				ports = append(ports, name)
				desired = append(desired, switchPort(name, fmt.Sprintf("0a:58:0a:00:%02x:%02x", random.IntN(256), random.IntN(256))))
			}
			desired = append(desired, logicalSwitch(fmt.Sprintf("n%d", n), ports...))
		}
		w.apply("master", desired)
		switch random.IntN(3) {
		case 0:
			w.commit(Delete("Logical_Switch", Equal("name", "n0")))
		case 1:
			w.commit(Update("Logical_Switch_Port", map[string]any{"addresses": Set{}, "options": Map{}}))
		}
	}
	w.apply("master", nil)
	if s := w.snapshot(); s.Len("Logical_Switch")+s.Len("Logical_Switch_Port") != 0 {
		t.Error("rows are left")
	}
}

// BenchmarkPlan measures a plan for 5,000 ports on 500 switches of which one has changed, and none.
func BenchmarkPlan(b *testing.B) {
	w := newWorld(b)
	var desired []Desired
	for n := range 500 {
		var ports []string
		for p := range 10 {
			name := fmt.Sprintf("pod-%d-%d", n, p)
			ports = append(ports, name)
			desired = append(desired, switchPort(name, fmt.Sprintf("0a:58:0a:%02x:%02x:%02x 10.%d.%d.%d", n/256, n%256, p, n/256, n%256, p)))
		}
		desired = append(desired, logicalSwitch(fmt.Sprintf("node-%d", n), ports...))
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			w.commit(w.plan("master", desired)...)
			b.StopTimer()
			w.commit(w.plan("master", nil)...)
			b.StartTimer()
		}
	})
	w.apply("master", desired)
	live := w.snapshot()
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			if operations, err := Plan(w.schema, "master", desired, live); err != nil || len(operations) > 0 {
				b.Fatal(operations, err)
			}
		}
	})
}
