package ovsdb

import (
	"encoding/json"
	"net"
	"testing"
	"time"
)

// FuzzRow: no value that a server sends in a column panics.
func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		`"eth0"`, `["set",[]]`, `["set",["a","b"]]`, `["map",[["k","v"]]]`, `["uuid","36bef046-7da7-43a5-905a-c17899216fcb"]`, `1500`, `-1.5e300`, `true`, `null`,
		`["map",[["k"]]]`, `["set","x"]`, `["uuid"]`, `["named-uuid","x"]`, `[[[[]]]]`, `{"set":1}`, `"\ud800"`,
	} {
		f.Add([]byte(seed))
	}
	optional := func(kind string) ColumnType { return ColumnType{Key: BaseType{Type: kind}, Max: 1} }
	types := []ColumnType{
		optional("string"), optional("integer"), optional("real"), optional("boolean"),
		{Key: BaseType{Type: "uuid"}, Max: Unlimited}, {Key: BaseType{Type: "string"}, Value: &BaseType{Type: "string"}, Max: Unlimited},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		row := Row{"c": data}
		row.Text("c")
		row.Int("c")
		row.Bool("c")
		row.UUID("c")
		row.UUIDs("c")
		row.Ints("c")
		row.Strings("c")
		row.Map("c")
		for _, t := range types {
			_, _ = t.decode(data)
		}
	})
}

// FuzzServer: a client survives every message of a server, and its calls end.
func FuzzServer(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":[{"rows":[]}],"error":null}`, `{"id":null,"method":"update","params":["a",{}]}`, `{"id":"echo","method":"echo","params":[]}`,
		`{"id":1,"result":null,"error":{"error":"x"}}`, `{"id":null,"method":"update2","params":["a",{"T":{"u":{"insert":{}}}}]}`, `[`, `{}{}`, "\x00", `{"id":[],"result":7}`,
		`{"id":null,"method":"update3","params":["a","t",{"T":{"u":{"modify":{"c":["set",[1]]}}}}]}`, `{"id":null,"method":"stolen","params":["x"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		near, far := net.Pipe()
		c := newClient(near, Options{}.withDefaults())
		called := make(chan struct{})
		go func() {
			defer close(called)
			_, _ = c.Transact(t.Context(), "db", Select("T", nil))
		}()
		go func() {
			buffer := make([]byte, 4096)
			for {
				if _, err := far.Read(buffer); err != nil {
					return
				}
			}
		}()
		_ = far.SetWriteDeadline(time.Now().Add(time.Minute))
		_, _ = far.Write(data)
		_ = far.Close()
		<-called
		_ = c.Close()
	})
}
