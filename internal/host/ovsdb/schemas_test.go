package ovsdb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// TestRealSchemas does the same with each database that networks use: typed rows that fit its schema, a transaction with a guard, an
// index that two writers violate, and a cache that has everything again after the server was killed.
func TestRealSchemas(t *testing.T) {
	for _, tt := range []struct {
		database, schema string
		// root creates the row that others belong to; parent is its table, with the column that refers to the children.
		root          []Operation
		parent, refs  string
		child         string
		columns, wide map[string]any
	}{
		{"Open_vSwitch", "/usr/share/openvswitch/vswitch.ovsschema",
			[]Operation{Insert("Open_vSwitch", "", map[string]any{})}, "Open_vSwitch", "bridges", "Bridge",
			map[string]any{"name": "br-a", "external_ids": Map{"a": "1"}}, map[string]any{"name": "br-b", "fail_mode": "secure"}},
		{"OVN_Northbound", "/usr/share/ovn/ovn-nb.ovsschema",
			[]Operation{Insert("Logical_Switch", "", map[string]any{"name": "node1"})}, "Logical_Switch", "ports", "Logical_Switch_Port",
			map[string]any{"name": "ns_pod", "addresses": Set{"0a:58:0a:00:00:05 10.0.0.5"}, "external_ids": Map{"pod": "true"}},
			map[string]any{"name": "ns_other", "enabled": true, "options": Map{"requested-chassis": "node1"}}},
		{"OVN_Southbound", "/usr/share/ovn/ovn-sb.ovsschema",
			[]Operation{Insert("Encap", "e", map[string]any{"type": "geneve", "ip": "192.0.2.1", "chassis_name": "node1"}),
				Insert("Chassis", "", map[string]any{"name": "node1", "hostname": "node1", "encaps": Set{Named("e")}})}, "Chassis", "encaps", "Encap",
			map[string]any{"type": "geneve", "ip": "192.0.2.2", "chassis_name": "node1"}, map[string]any{"type": "vxlan", "ip": "192.0.2.3", "chassis_name": "node1"}},
	} {
		t.Run(tt.database, func(t *testing.T) {
			s := standalone(t, tt.schema)
			s.start()
			c := dial(t, s.socket)
			insert := func(columns map[string]any) []Operation {
				return []Operation{Insert(tt.child, "c", columns), Mutate(tt.parent, tt.refs, "insert", Set{Named("c")})}
			}
			for _, operations := range [][]Operation{tt.root, insert(tt.columns)} {
				if _, err := c.Transact(t.Context(), tt.database, operations...); err != nil {
					t.Fatal(err)
				}
			}
			var refused *OperationError
			if _, err := c.Transact(t.Context(), tt.database, insert(tt.columns)...); !errors.As(err, &refused) || refused.Operation != commit ||
				refused.Code != "constraint violation" {
				t.Errorf("a second row with the same index: %v", err)
			}
			guarded := append([]Operation{Guard(tt.child, tt.columns, conditions(tt.columns)...)}, insert(tt.wide)...)
			if _, err := c.Transact(t.Context(), tt.database, guarded...); err != nil {
				t.Errorf("a guard that holds: %v", err)
			}
			if _, err := c.Transact(t.Context(), tt.database, Delete(tt.parent), Guard(tt.child, tt.wide, conditions(tt.columns)...)); !errors.As(err, &refused) ||
				refused.Code != "timed out" {
				t.Errorf("a guard that does not hold: %v", err)
			}

			cache := NewCache(tt.database, map[string][]string{tt.parent: nil, tt.child: nil}, nil)
			rows := func() int { snapshot := cache.Snapshot(); return snapshot.Len(tt.child) }
			follow := func() context.CancelFunc {
				ctx, cancel := context.WithCancel(t.Context())
				client := dial(t, s.socket)
				go func() { _ = cache.Watch(ctx, client) }()
				return cancel
			}
			stop := follow()
			want := 2 + strings.Count(tt.database, "South") // the chassis has an encapsulation from the start
			eventually.Is(t, "the cache has the rows", func() bool { return rows() == want })
			s.kill()
			stop()
			s.start()
			c = dial(t, s.socket)
			if _, err := c.Transact(t.Context(), tt.database, Mutate(tt.parent, tt.refs, "delete", deref(t, c, tt.database, tt.child, tt.wide))); err != nil {
				t.Fatal(err)
			}
			defer follow()()
			eventually.Is(t, "the cache has the rows of the server that was started again", func() bool { return rows() == want-1 })
		})
	}
}

// conditions match the rows that have the index columns of a row.
func conditions(columns map[string]any) []Condition {
	var out []Condition
	for _, name := range []string{"name", "ip", "type"} {
		if value, ok := columns[name]; ok {
			out = append(out, Equal(name, value))
		}
	}
	return out
}

// deref returns the row with some index columns, as a set of references.
func deref(t *testing.T, c *Client, database, table string, columns map[string]any) Set {
	t.Helper()
	results, err := c.Transact(t.Context(), database, Select(table, []string{"_uuid"}, conditions(columns)...))
	if err != nil || len(results[0].Rows) != 1 {
		t.Fatalf("%v, %v", results, err)
	}
	return Set{results[0].Rows[0].UUID("_uuid")}
}
