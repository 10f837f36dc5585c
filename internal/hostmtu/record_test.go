package hostmtu

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecordRoundTripsThroughConfigMap(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, r := range map[string]Record{
		"waiting for more": {Nodes: map[string]Node{"a": {Mark: Mark("1"), MTU: 1500}}, First: created},
		"settled, and a smaller node joined afterwards": {Nodes: map[string]Node{"a": {Mark: Mark("1"), MTU: 1500}, "b": {Mark: Mark("2"), MTU: 1400}}, Settled: 1500, First: created},
		"with interfaces":       {Nodes: map[string]Node{"a": {Mark: Mark("1"), MTU: 1500}}, Interfaces: []string{"eth0", "eth1"}, First: created},
		"all nodes are deleted": {Nodes: map[string]Node{}, Settled: 1500, First: created},
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

// TestInterfacesAreKnownOfAllNodesOrNotAtAll: a name that is missing is refused, so that no node may be left out.
func TestInterfacesAreKnownOfAllNodesOrNotAtAll(t *testing.T) {
	var many []string
	for i := range mostInterfaces + 1 {
		many = append(many, fmt.Sprintf("eth%d", i))
	}
	for _, tc := range []struct {
		why    string
		before Record
		of     []string
		want   []string
	}{
		{"the first node", Record{}, []string{"eth1", "eth0"}, []string{"eth0", "eth1"}},
		{"another node", Record{Nodes: map[string]Node{"a": {}}, Interfaces: []string{"eth0"}}, []string{"ens3", "eth0"}, []string{"ens3", "eth0"}},
		{"a node that does not report them", Record{Nodes: map[string]Node{"a": {}}, Interfaces: []string{"eth0"}}, nil, nil},
		{"after one that did not", Record{Nodes: map[string]Node{"a": {}}}, []string{"eth0"}, nil},
		{"too many", Record{}, many, nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r := tc.before
			r.AddInterfaces(tc.of)
			if diff := cmp.Diff(tc.want, r.Interfaces); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSmallestMTUIsPublishedUnderTheCommonKey(t *testing.T) {
	data, err := Record{Nodes: map[string]Node{"a": {MTU: 9000}, "b": {MTU: 1400}}}.Encode()
	if err != nil || data["mtu"] != "1400" {
		t.Errorf("mtu = %q, %v; want 1400", data["mtu"], err)
	}
}

func TestAnotherNodeOfTheSameNameIsNotKnown(t *testing.T) {
	const uid = "8c1f1d5e-7c0c-4f8e-9d0b-111111111111"
	r := Record{Nodes: map[string]Node{"a": {Mark: Mark(uid), MTU: 1500}}}
	if !r.Known("a", uid) || r.Known("a", "8c1f1d5e-7c0c-4f8e-9d0b-111111111112") || r.Known("b", uid) {
		t.Error("nodes are mistaken for one another")
	}
}

// TestTenThousandNodesFitIntoAConfigMap: also with the long names that clouds give.
func TestTenThousandNodesFitIntoAConfigMap(t *testing.T) {
	const most = 1 << 20 // what the API server takes
	r := Record{Nodes: map[string]Node{}, Settled: 1500}
	for i := range 10_000 {
		r.Nodes[fmt.Sprintf("ip-10-0-%03d-%03d.ap-southeast-2.compute.internal", i/256, i%256)] = Node{Mark: Mark(strconv.Itoa(i)), MTU: 1500 + i%2*7501}
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if size := len(data["nodes"]); size > most*3/4 {
		t.Errorf("they take %d bytes of %d", size, most)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"1500":{"a":"00000001"}}`, "1500")
	f.Add(`{"-1":{"a":""}}`, "x")
	f.Fuzz(func(t *testing.T, nodes, settled string) {
		r, err := Decode(map[string]string{"nodes": nodes, "settled": settled}, time.Time{})
		if err == nil && (r.Settled < 0 || r.Least() < 0) {
			t.Errorf("a record with MTU %d, settled %d was taken", r.Least(), r.Settled)
		}
	})
}
