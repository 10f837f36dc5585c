// Package hostmtu is the record of what the nodes' default routes allow: the MTU of each node that was asked,
// the least of them, and the one that the network was settled on. It is kept in a ConfigMap, so that it outlives
// the operator.
package hostmtu

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// ConfigMap is the name of the ConfigMap in the operator's namespace.
const ConfigMap = "mtu"

// SettleAfter is how long nodes that do not answer are waited for after the first has answered. A node that is
// broken must not keep the others without a network.
const SettleAfter = 20 * time.Second

// The keys of the ConfigMap.
const (
	keyLeast   = "mtu"
	keySettled = "settled"
	keyNodes   = "nodes"
)

// Node is what one node has answered.
type Node struct {
	// UID is that of the Node object: another node of the same name is asked anew.
	UID string `json:"uid"`
	// MTU is in bytes.
	MTU int `json:"mtu"`
}

// Record is what is known of all nodes. The zero value knows nothing.
type Record struct {
	Nodes map[string]Node
	// Settled is the least MTU at the time when enough nodes had answered, which is what the defaults of a
	// fresh network are computed from. 0 means that more answers are waited for. It never changes afterwards.
	Settled int
	// First is when the first node answered, the zero time if none has.
	First time.Time
}

// Least returns the least MTU of all nodes in bytes, 0 if none is known.
func (r Record) Least() int {
	least := 0
	for _, n := range r.Nodes {
		if least == 0 || n.MTU < least {
			least = n.MTU
		}
	}
	return least
}

// Known reports whether a node of this name and UID has answered.
func (r Record) Known(name, uid string) bool {
	n, ok := r.Nodes[name]
	return ok && n.UID == uid
}

// Encode returns the data of the ConfigMap.
func (r Record) Encode() (map[string]string, error) {
	nodes, err := json.Marshal(r.Nodes)
	if err != nil {
		return nil, fmt.Errorf("encode MTU of nodes: %w", err)
	}
	data := map[string]string{keyLeast: strconv.Itoa(r.Least()), keyNodes: string(nodes)}
	if r.Settled > 0 {
		data[keySettled] = strconv.Itoa(r.Settled)
	}
	return data, nil
}

// Settled returns Record.Settled from the data of the ConfigMap without reading all the rest; 0 if it is not there
// or cannot be read.
func Settled(data map[string]string) int {
	settled, err := strconv.Atoi(data[keySettled])
	if err != nil {
		return 0
	}
	return max(settled, 0)
}

// Decode reads the data of the ConfigMap, which was created at some time. A record that cannot be read is an
// error; asking the nodes again is the way out.
func Decode(data map[string]string, created time.Time) (Record, error) {
	r := Record{First: created, Nodes: map[string]Node{}}
	if text := data[keyNodes]; text != "" {
		if err := json.Unmarshal([]byte(text), &r.Nodes); err != nil {
			return Record{}, fmt.Errorf("decode MTU of nodes: %w", err)
		}
	}
	for name, n := range r.Nodes {
		if n.MTU <= 0 {
			return Record{}, fmt.Errorf("decode MTU of nodes: node %s has MTU %d", name, n.MTU)
		}
	}
	if text := data[keySettled]; text != "" {
		settled, err := strconv.Atoi(text)
		if err != nil || settled <= 0 {
			return Record{}, fmt.Errorf("decode MTU of nodes: settled is %q, not a positive number", text)
		}
		r.Settled = settled
	}
	return r, nil
}
