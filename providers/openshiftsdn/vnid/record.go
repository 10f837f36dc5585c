package vnid

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

const (
	// RecordAnnotation of the NetNamespace default has the Record.
	RecordAnnotation = "networkoperator.openshift.io/vnid-allocation"
	// NamespaceUIDAnnotation is the UID of the Namespace for which a NetNamespace exists. One without it was created by an administrator or
	// by the operator, and stays without a Namespace.
	NamespaceUIDAnnotation = "networkoperator.openshift.io/namespace-uid"

	// cycle is how many VNIDs there are.
	cycle = sdnv1.VNIDLast - sdnv1.VNIDFirst + 1
	// window is how many VNIDs are reserved at a time.
	window = 1024
	// near is how far ahead of the allocation a released VNID needs a rest of its own. Farther ones are reached later than Rest, as the
	// controller writes at most 200 objects a second.
	near = cycle / 2
	// Rest is how long a released VNID is not used at least, so that no node has flows of its former namespace.
	Rest = 8 * time.Hour
	// mostReleased bounds the record, as annotations are limited to 256 KiB in all.
	mostReleased = 6000
)

// Record is what has to outlive the controller, so that a VNID that is released is not used again while a node may have flows of it. VNIDs
// are given out in ascending order, and from the lowest one again after the highest: a VNID that was given out in this way comes up again
// after 16 million others. Its zero value is that of a cluster that has no record.
type Record struct {
	// Next is the lowest VNID that was not reserved in this cycle. All below it may have been in use.
	Next uint32 `json:"next"`
	// Released are VNIDs that the allocation would reach soon, and when they were released, in seconds since 1970.
	Released map[uint32]int64 `json:"released,omitempty"`
}

// DecodeRecord reads the value of RecordAnnotation. An empty one is the zero value.
func DecodeRecord(text string) (Record, error) {
	if text == "" {
		return Record{}, nil
	}
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return Record{}, fmt.Errorf("annotation %s: %w", RecordAnnotation, err)
	}
	if r.Next < sdnv1.VNIDFirst || r.Next > sdnv1.VNIDLast {
		return Record{}, fmt.Errorf("annotation %s: next is %d, not a VNID from %d to %d", RecordAnnotation, r.Next, sdnv1.VNIDFirst, sdnv1.VNIDLast)
	}
	return r, nil
}

func (r Record) encode() string {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers can always be encoded
	}
	return string(data)
}

// clone returns a copy without VNIDs that have rested long enough.
func (r Record) clone(now time.Time) Record {
	r.Released = maps.Clone(r.Released)
	maps.DeleteFunc(r.Released, func(_ uint32, at int64) bool { return rested(at, now) })
	return r
}

func rested(at int64, now time.Time) bool { return now.Sub(time.Unix(at, 0)) > Rest }

// after returns the VNID that is n further than another one.
func after(v uint32, n uint32) uint32 {
	return sdnv1.VNIDFirst + (v-sdnv1.VNIDFirst+n)%cycle
}

// ahead is how much further one VNID is than another.
func ahead(of, v uint32) uint32 {
	return (v - sdnv1.VNIDFirst + cycle - (of - sdnv1.VNIDFirst)) % cycle
}
