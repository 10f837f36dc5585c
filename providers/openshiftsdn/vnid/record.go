package vnid

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

const (
	// RecordAnnotation is the annotation of the NetNamespace default with the Record.
	RecordAnnotation = "networkoperator.openshift.io/vnid-allocation"
	// NamespaceUIDAnnotation is the annotation of a NetNamespace with the UID of its Namespace. A NetNamespace without it was created by an administrator or
	// by the operator, and is kept without a Namespace.
	NamespaceUIDAnnotation = "networkoperator.openshift.io/namespace-uid"

	// cycle is the number of VNIDs.
	cycle = sdnv1.VNIDLast - sdnv1.VNIDFirst + 1
	// window is the number of VNIDs that are reserved at a time.
	window = 1024
	// near is the distance ahead of the allocation within which a released VNID needs a quarantine. The allocation reaches VNIDs beyond it later than Rest, as
	// the controller writes at most 200 objects per second.
	near = cycle / 2
	// Rest is the minimum quarantine of a released VNID, so that no node has flows of its former namespace.
	Rest = 8 * time.Hour
	// maxReleased limits the size of the record: annotations are limited to 256 KiB in total.
	maxReleased = 6000
)

// Record is the persistent allocation state, which prevents reuse of a released VNID while nodes may still have its flows. VNIDs are allocated in ascending
// order, starting again from the lowest after the highest: a VNID is reused after 16 million others. The zero value is the record of a new cluster.
type Record struct {
	// Next is the lowest VNID that was not reserved in this cycle. All below it may have been used.
	Next uint32 `json:"next"`
	// Released has the release times, as Unix seconds, of VNIDs that the allocation would reach soon.
	Released map[uint32]int64 `json:"released,omitempty"`
}

// DecodeRecord decodes the value of RecordAnnotation. An empty value is the zero value.
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

// clone returns a copy without VNIDs whose quarantine has ended.
func (r Record) clone(now time.Time) Record {
	r.Released = maps.Clone(r.Released)
	maps.DeleteFunc(r.Released, func(_ uint32, at int64) bool { return rested(at, now) })
	return r
}

func rested(at int64, now time.Time) bool { return now.Sub(time.Unix(at, 0)) > Rest }

// after returns the VNID n positions after v.
func after(v uint32, n uint32) uint32 {
	return sdnv1.VNIDFirst + (v-sdnv1.VNIDFirst+n)%cycle
}

// ahead returns the distance from one VNID to another.
func ahead(of, v uint32) uint32 {
	return (v - sdnv1.VNIDFirst + cycle - (of - sdnv1.VNIDFirst)) % cycle
}
