// Package hostmtu records the MTU of the nodes' default routes: that of each probed node, the minimum, and the one from which
// the defaults of the network are computed. A ConfigMap stores the record, so that it survives restarts of the operator.
package hostmtu

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ConfigMap is the name of the ConfigMap in the operator's namespace.
const ConfigMap = "mtu"

// SettleAfter is the time to wait for other nodes after the first one has reported. A broken node must not prevent
// the network of the others.
const SettleAfter = 20 * time.Second

// The keys of the ConfigMap.
const (
	keyLeast   = "mtu"
	keySettled = "settled"
	keyNodes   = "nodes"
	// keyInterfaces is missing in records of operators that did not ask for interfaces.
	keyInterfaces = "interfaces"
)

// mostInterfaces is the maximum number of interface names in a record. With more, the check for misspelt names is not useful.
const mostInterfaces = 500

// Node is the report of one node.
type Node struct {
	// Mark is that of the Node object: another node of the same name is probed again.
	Mark string
	// MTU is in bytes.
	MTU int
}

// Mark returns a hash of an object's UID that distinguishes it from others of its name: eight digits, since a ConfigMap holds at most
// 1 MiB for all nodes. A collision, one in four billion, omits a probe.
func Mark(uid string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return fmt.Sprintf("%08x", h.Sum32())
}

// Record has the reports of all nodes. The zero value is empty.
type Record struct {
	Nodes map[string]Node
	// Settled is the minimum MTU at the time when enough nodes had reported theirs, without implausible ones of a few nodes. The defaults of
	// a new network are computed from it. It is 0 while more reports are awaited, and does not change afterwards.
	Settled int
	// Interfaces are the sorted names of the interfaces with an address that at least one node of this record had when it was probed; nil
	// if they are not known for all nodes. Names from nodes that have left the cluster stay.
	Interfaces []string
	// First is the time at which the first node reported, the zero time if none has.
	First time.Time
}

// Least returns the minimum MTU of all nodes in bytes, 0 if none is known.
func (r Record) Least() int {
	least := 0
	for _, n := range r.Nodes {
		if least == 0 || n.MTU < least {
			least = n.MTU
		}
	}
	return least
}

// AddInterfaces adds the interfaces of a node that is not in the record yet. If the node has reported none, or if there are more than
// mostInterfaces, Interfaces is nil from then on. A record without nodes begins with none.
func (r *Record) AddInterfaces(names []string) {
	if len(names) == 0 || r.Interfaces == nil && len(r.Nodes) > 0 {
		r.Interfaces = nil
		return
	}
	all := slices.Concat(r.Interfaces, names)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > mostInterfaces {
		all = nil
	}
	r.Interfaces = all
}

// Known reports whether the record has a node of this name and UID.
func (r Record) Known(name, uid string) bool {
	n, ok := r.Nodes[name]
	return ok && n.Mark == Mark(uid)
}

// marks has the marks of nodes by MTU and name, so that an MTU that thousands of nodes share is stored once.
type marks map[int]map[string]string

// Encode returns the data of the ConfigMap. Each node takes the length of its name and 14 bytes.
func (r Record) Encode() (map[string]string, error) {
	byMTU := marks{}
	for name, n := range r.Nodes {
		if byMTU[n.MTU] == nil {
			byMTU[n.MTU] = map[string]string{}
		}
		byMTU[n.MTU][name] = n.Mark
	}
	nodes, err := json.Marshal(byMTU)
	if err != nil {
		return nil, fmt.Errorf("encode MTU of nodes: %w", err)
	}
	data := map[string]string{keyLeast: strconv.Itoa(r.Least()), keyNodes: string(nodes)}
	if r.Settled > 0 {
		data[keySettled] = strconv.Itoa(r.Settled)
	}
	if len(r.Interfaces) > 0 {
		data[keyInterfaces] = strings.Join(r.Interfaces, " ")
	}
	return data, nil
}

// Interfaces returns Record.Interfaces from the data of the ConfigMap without decoding the other keys.
func Interfaces(data map[string]string) []string {
	if names := strings.Fields(data[keyInterfaces]); len(names) > 0 {
		return names
	}
	return nil
}

// Settled returns Record.Settled from the data of the ConfigMap without decoding the other keys; 0 if it is missing or cannot be read.
func Settled(data map[string]string) int {
	settled, err := strconv.Atoi(data[keySettled])
	if err != nil {
		return 0
	}
	return max(settled, 0)
}

// Decode reads the data of the ConfigMap, which was created at the given time. If it returns an error, the nodes must be probed again.
func Decode(data map[string]string, created time.Time) (Record, error) {
	r := Record{First: created, Nodes: map[string]Node{}, Interfaces: Interfaces(data)}
	byMTU := marks{}
	if text := data[keyNodes]; text != "" {
		if err := json.Unmarshal([]byte(text), &byMTU); err != nil {
			return Record{}, fmt.Errorf("decode MTU of nodes: %w", err)
		}
	}
	for mtu, nodes := range byMTU {
		if mtu <= 0 {
			return Record{}, fmt.Errorf("decode MTU of nodes: %d is no MTU", mtu)
		}
		for name, mark := range nodes {
			r.Nodes[name] = Node{Mark: mark, MTU: mtu}
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
