// Package hostmtu is the record of what the nodes' default routes allow: the MTU of each node that was asked,
// the least of them, and the one that the network was settled on. It is kept in a ConfigMap, so that it outlives
// the operator.
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

// SettleAfter is how long nodes that do not answer are waited for after the first has answered. A node that is
// broken must not keep the others without a network.
const SettleAfter = 20 * time.Second

// The keys of the ConfigMap.
const (
	keyLeast   = "mtu"
	keySettled = "settled"
	keyNodes   = "nodes"
	// keyInterfaces is missing in records of operators that did not ask for interfaces.
	keyInterfaces = "interfaces"
)

// mostInterfaces is how many names of interfaces are kept of a cluster. With more, no one can tell from them what a typing error is.
const mostInterfaces = 500

// Node is what one node has answered.
type Node struct {
	// Mark is that of the Node object: another node of the same name is asked again.
	Mark string
	// MTU is in bytes.
	MTU int
}

// Mark is what is kept of an object's UID to tell it from others of its name: eight digits, since a ConfigMap holds 1 MiB for
// all nodes, and one in four billion is asked too seldom.
func Mark(uid string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return fmt.Sprintf("%08x", h.Sum32())
}

// Record is what is known of all nodes. The zero value knows nothing.
type Record struct {
	Nodes map[string]Node
	// Settled is the least MTU that the network follows at the time when enough nodes had answered, which is what the defaults of a
	// fresh network are computed from; implausible ones of a few nodes are left out. 0 means that more answers are waited for. It never
	// changes afterwards.
	Settled int
	// Interfaces are the names of the interfaces with an address that at least one node of this record had when it was asked, sorted;
	// nil if they are not known of all nodes. Names of nodes that have left the cluster stay.
	Interfaces []string
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

// AddInterfaces adds those of a node, which is not in the record yet. If it has reported none, or there are too many to be of use, they
// are not known from then on. A record without nodes begins with none.
func (r *Record) AddInterfaces(of []string) {
	if len(of) == 0 || r.Interfaces == nil && len(r.Nodes) > 0 {
		r.Interfaces = nil
		return
	}
	all := slices.Concat(r.Interfaces, of)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > mostInterfaces {
		all = nil
	}
	r.Interfaces = all
}

// Known reports whether a node of this name and UID has answered.
func (r Record) Known(name, uid string) bool {
	n, ok := r.Nodes[name]
	return ok && n.Mark == Mark(uid)
}

// marks are the marks of nodes by their names, by their MTU: what is the same of thousands of nodes is said once.
type marks map[int]map[string]string

// Encode returns the data of the ConfigMap. Of a node, it takes its name and 14 bytes.
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

// Interfaces returns Record.Interfaces from the data of the ConfigMap without reading all the rest.
func Interfaces(data map[string]string) []string {
	if names := strings.Fields(data[keyInterfaces]); len(names) > 0 {
		return names
	}
	return nil
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
