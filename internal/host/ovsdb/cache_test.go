package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// proxy stands between a client and a server: it can end connections, and answers some methods as servers without them do.
type proxy struct {
	socket  string
	refused []string
	resumed atomic.Int64 // replies of monitor_cond_since that continue from a transaction
	passed  atomic.Int64 // requests that the server has

	mu    sync.Mutex
	conns []net.Conn
	open  bool
}

func proxied(t *testing.T, server string, refused ...string) *proxy {
	t.Helper()
	p := &proxy{socket: filepath.Join(t.TempDir(), "proxy.sock"), refused: refused, open: true}
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close(); p.drop(false) })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", server)
			p.mu.Lock()
			if err != nil || !p.open {
				_ = near.Close()
				p.mu.Unlock()
				continue
			}
			p.conns = append(p.conns, near, far)
			p.mu.Unlock()
			go p.requests(near, far)
			go p.replies(near, far)
		}
	}()
	return p
}

// drop ends all connections, and sets whether new ones are accepted.
func (p *proxy) drop(open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns, p.open = nil, open
}

func (p *proxy) requests(near, far net.Conn) {
	for decoder := json.NewDecoder(near); ; {
		var raw json.RawMessage
		var m message
		if decoder.Decode(&raw) != nil || json.Unmarshal(raw, &m) != nil {
			_ = far.Close()
			return
		}
		if slices.Contains(p.refused, m.Method) {
			_, _ = fmt.Fprintf(near, `{"id":%s,"result":null,"error":"unknown method"}`, m.ID)
		} else {
			_, _ = far.Write(raw)
			p.passed.Add(1)
		}
	}
}

func (p *proxy) replies(near, far net.Conn) {
	for decoder := json.NewDecoder(far); ; {
		var raw json.RawMessage
		var m message
		if decoder.Decode(&raw) != nil || json.Unmarshal(raw, &m) != nil {
			_ = near.Close()
			return
		}
		if strings.HasPrefix(string(m.Result), "[true,") {
			p.resumed.Add(1)
		}
		_, _ = near.Write(raw)
	}
}

// mirror is what a reader of changes has; it complains about a change that does not follow from those before.
type mirror struct {
	t    *testing.T
	mu   sync.Mutex
	rows contents
}

func (m *mirror) take(all []Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, change := range all {
		if diff := cmp.Diff(m.rows.row(change.Table, change.UUID), change.Old); diff != "" {
			m.t.Errorf("the change of %s does not follow: %s", change.UUID, diff)
		}
		if m.rows[change.Table] == nil {
			m.rows[change.Table] = map[UUID]Row{}
		}
		if change.New == nil {
			delete(m.rows[change.Table], change.UUID)
		} else {
			m.rows[change.Table][change.UUID] = change.New
		}
	}
}

// same is whether the mirror, the cache and the server have the same bridges.
func (m *mirror) same(c *Cache, writer *Client) bool {
	results, err := writer.Transact(m.t.Context(), db, Select("Bridge", bridgeColumns))
	if err != nil {
		m.t.Fatal(err)
	}
	want := map[string]string{}
	for _, row := range results[0].Rows {
		want[string(row.UUID("_uuid"))] = describeBridge(row)
	}
	got, mirrored := map[string]string{}, map[string]string{}
	for id, row := range c.Snapshot().Rows("Bridge") {
		got[string(id)] = describeBridge(row)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, row := range m.rows["Bridge"] {
		mirrored[string(id)] = describeBridge(row)
	}
	return maps.Equal(want, got) && maps.Equal(want, mirrored)
}

var bridgeColumns = []string{"_uuid", "name", "external_ids", "protocols", "stp_enable", "fail_mode", "flood_vlans"}

func describeBridge(r Row) string {
	return fmt.Sprint(r.UUID("_uuid"), r.Text("name"), r.Map("external_ids"), r.Strings("protocols"), r.Bool("stp_enable"),
		r.Strings("fail_mode"), r.Ints("flood_vlans"))
}

func newBridge(name string) []Operation {
	return []Operation{
		Insert("Bridge", "b", map[string]any{"name": name, "external_ids": Map{"a": "1", "b": "2"}, "protocols": Set{"OpenFlow13", "OpenFlow15"}}),
		Mutate("Open_vSwitch", "bridges", "insert", Set{Named("b")}),
	}
}

// steps are changes of every kind; each is one transaction.
func steps() [][]Operation {
	one := Equal("name", "br1")
	return [][]Operation{
		newBridge("br1"), newBridge("br2"),
		{Update("Bridge", map[string]any{"external_ids": Map{"a": "2", "c": "3"}, "fail_mode": "secure", "stp_enable": true}, one)},
		{Mutate("Bridge", "protocols", "delete", Set{"OpenFlow13"}, one), Mutate("Bridge", "flood_vlans", "insert", Set{7, 8}, one)},
		{Update("Bridge", map[string]any{"fail_mode": Set{}, "protocols": Set{}, "external_ids": Map{}}, one)},
		newBridge("br3"),
		{Update("Open_vSwitch", map[string]any{"bridges": Set{}})}, // no longer referenced, so removed
		newBridge("br4"),
	}
}

func TestCacheRecoversFromGaps(t *testing.T) {
	since, cond := "monitor_cond_since", "monitor_cond"
	for _, tt := range []struct {
		reason  string
		kind    func(testing.TB, string) *realServer
		refused []string
		resumes bool
	}{
		{"a cluster has a history", clustered, nil, true},
		{"a standalone server has none", standalone, nil, false},
		{"a server that knows only monitor_cond", clustered, []string{since}, false},
		{"a server that knows only what RFC 7047 has", clustered, []string{since, cond}, false},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			real := tt.kind(t, "/usr/share/openvswitch/vswitch.ovsschema")
			real.start()
			p := proxied(t, real.socket, tt.refused...)
			m := &mirror{t: t, rows: contents{}}
			c := NewCache(db, map[string][]string{"Bridge": bridgeColumns}, m.take)
			running(t, &Session{Endpoints: []Endpoint{Unix(p.socket)}, Options: Options{MaxBackoff: 10 * time.Millisecond}, Serve: c.Watch})
			<-c.Synced()
			writer := dial(t, real.socket)
			// Servers keep a history that is at most as large as the database.
			bulk := Map{}
			for i := range 3000 {
				bulk[strconv.Itoa(i)] = "x"
			}
			if _, err := writer.Transact(t.Context(), db, Insert("Open_vSwitch", "", map[string]any{}), Insert("Queue", "", map[string]any{"external_ids": bulk})); err != nil {
				t.Fatal(err)
			}
			// Everything while connected, then each change alone in a gap, then each pair, then all of them.
			for _, gap := range []int{0, 1, 2, len(steps())} {
				for i, operations := range steps() {
					if gap > 0 && i%gap == 0 {
						p.drop(false)
					}
					if _, err := writer.Transact(t.Context(), db, operations...); err != nil {
						t.Fatal(err)
					}
					if gap == 0 || i%gap == gap-1 {
						p.drop(true)
						eventually.Is(t, fmt.Sprintf("step %d with gaps of %d", i, gap), func() bool { return m.same(c, writer) })
					}
				}
			}
			before := p.resumed.Load()
			_ = writer.Close()
			real.kill()
			real.start()
			writer = dial(t, real.socket)
			if _, err := writer.Transact(t.Context(), db, newBridge("br5")...); err != nil {
				t.Fatal(err)
			}
			eventually.Is(t, "the state after a kill", func() bool { return m.same(c, writer) })
			if tt.resumes != (before > 0) || tt.resumes != (p.resumed.Load() > before) {
				t.Errorf("%d replies continue from a transaction, %d before the kill", p.resumed.Load(), before)
			}
		})
	}
}

func TestSnapshotsAreImmutable(t *testing.T) {
	c := NewCache(db, nil, nil)
	row := Row{"_uuid": encodeUUID("a")}
	c.store([]Change{{Table: "T", UUID: "a", New: row}}, "")
	before := c.Snapshot()
	c.store([]Change{{Table: "T", UUID: "b", New: row}, {Table: "T", UUID: "a"}, {Table: "U", UUID: "c", New: row}}, "")
	after := c.Snapshot()
	got := []any{before.Len("T"), before.Row("T", "a") != nil, before.Len("U"), after.Len("T"), after.Row("T", "b") != nil, after.Len("U")}
	if diff := cmp.Diff([]any{1, true, 0, 1, true, 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCacheNamesAllMissingPartsOfTheSchema(t *testing.T) {
	c := NewCache(db, map[string][]string{"Bridge": {"name", "colour"}, "Ship": {"name"}}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := c.Watch(ctx, dial(t, server(t)))
	for _, text := range []string{"Open_vSwitch 8.", "table Bridge: column colour is missing", "table Ship is missing"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
}

func TestDifferencesOfColumns(t *testing.T) {
	text := BaseType{Type: "string"}
	set, pairs := ColumnType{Key: text, Max: Unlimited}, ColumnType{Key: text, Value: &text, Max: Unlimited}
	for _, tt := range []struct {
		reason          string
		t               ColumnType
		old, diff, want string
	}{
		{"one value is replaced", ColumnType{Key: text, Min: 1, Max: 1}, `"a"`, `"b"`, `"b"`},
		{"an optional value is replaced", ColumnType{Key: text, Max: 1}, `"a"`, `"b"`, `"b"`},
		{"an optional value is removed", ColumnType{Key: text, Max: 1}, `"a"`, `["set",[]]`, `["set",[]]`},
		{"members of a set come and go", set, `["set",["c","a"]]`, `["set",["b","a"]]`, `["set",["b","c"]]`},
		{"the last member of a set goes", set, `"a"`, `"a"`, `["set",[]]`},
		{"the first members of a set come", set, `["set",[]]`, `["set",["b","a"]]`, `["set",["a","b"]]`},
		{"a pair comes, one changes, one goes", pairs, `["map",[["a","1"],["b","2"]]]`, `["map",[["c","3"],["a","4"],["b","2"]]]`, `["map",[["a","4"],["c","3"]]]`},
	} {
		old, err := tt.t.decode(json.RawMessage(tt.old))
		if err != nil {
			t.Fatal(err)
		}
		diff, err := tt.t.members(json.RawMessage(tt.diff))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(tt.t.encode(tt.t.apply(old, diff))); got != tt.want {
			t.Errorf("%s: %s", tt.reason, got)
		}
	}
}
