package hostmtu

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecordSurvivesTheConfigMap(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, r := range map[string]Record{
		"waiting for more": {Nodes: map[string]Node{"a": {UID: "1", MTU: 1500}}, First: created},
		"settled, and a smaller node joined afterwards": {Nodes: map[string]Node{"a": {UID: "1", MTU: 1500}, "b": {UID: "2", MTU: 1400}}, Settled: 1500, First: created},
		"all nodes are gone":                            {Nodes: map[string]Node{}, Settled: 1500, First: created},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(data, created)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, got); diff != "" || Settled(data) != r.Settled {
				t.Errorf("settled at %d, and %s", Settled(data), diff)
			}
		})
	}
}

func TestLeastIsPublishedUnderTheKeyThatOthersRead(t *testing.T) {
	data, err := Record{Nodes: map[string]Node{"a": {MTU: 9000}, "b": {MTU: 1400}}}.Encode()
	if err != nil || data["mtu"] != "1400" {
		t.Errorf("mtu = %q, %v; want 1400", data["mtu"], err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"a":{"uid":"1","mtu":1500}}`, "1500")
	f.Add(`{"a":{"mtu":-1}}`, "x")
	f.Fuzz(func(t *testing.T, nodes, settled string) {
		r, err := Decode(map[string]string{"nodes": nodes, "settled": settled}, time.Time{})
		if err == nil && (r.Settled < 0 || r.Least() < 0) {
			t.Errorf("a record with MTU %d, settled %d was taken", r.Least(), r.Settled)
		}
	})
}
