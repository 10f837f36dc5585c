package openflow

import (
	"fmt"
	"strings"
)

// SelectGroup treats each connection by one of its buckets.
type SelectGroup struct {
	ID uint32
	// Buckets are lists of actions. All are chosen as often.
	Buckets [][]Action
}

// String is the group in the notation of ovs-ofctl(8). Addresses and ports of a packet choose the bucket, so that a connection keeps its one.
func (g SelectGroup) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group_id=%d,type=select,selection_method=hash,fields(ip_src,ip_dst,nw_proto,tcp_src,tcp_dst,udp_src,udp_dst)", g.ID)
	for i, bucket := range g.Buckets {
		fmt.Fprintf(&b, ",bucket=bucket_id:%d,actions=%s", i+1, actions(bucket))
	}
	return b.String()
}
