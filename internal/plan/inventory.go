package plan

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// InventoryName is the name of the ConfigMap of the inventory in the operator's namespace.
const InventoryName = "network-inventory"

// inventoryField is the key of the ConfigMap's data. The number increases with incompatible changes of the format.
const inventoryField = "objects.v1"

// Entry is an object that the operator has applied, or was about to.
type Entry struct {
	Key       manifest.Key
	Version   string
	Component string
	// UID is empty until the object is known to exist.
	UID types.UID
	// Adopted is true if the object existed before the operator took it over.
	Adopted bool
}

// Inventory has all objects that the operator has applied, sorted by key. The zero value is that of a new cluster.
type Inventory []Entry

// Equal reports whether two inventories have the same entries.
func (i Inventory) Equal(other Inventory) bool { return slices.Equal(i, other) }

// Data returns the inventory as data of a ConfigMap: one JSON list per line, so that it is readable and 5,000 objects fit.
func (i Inventory) Data() map[string]string {
	var out strings.Builder
	for _, e := range i {
		flag := ""
		if e.Adopted {
			flag = "adopted"
		}
		// Strings can always be encoded.
		line, _ := json.Marshal([...]string{e.Key.Group, e.Version, e.Key.Kind, e.Key.Namespace, e.Key.Name, string(e.UID), e.Component, flag})
		out.Write(line)
		out.WriteByte('\n')
	}
	return map[string]string{inventoryField: out.String()}
}

// ErrInventory is wrapped by errors of DecodeInventory.
var ErrInventory = errors.New("inventory of applied objects cannot be read")

// DecodeInventory decodes the result of Data. An invalid inventory is an error and never counts as empty, since its
// objects would never be deleted.
func DecodeInventory(data map[string]string) (Inventory, error) {
	text, ok := data[inventoryField]
	if !ok {
		return nil, fmt.Errorf("%w: it has no key %q", ErrInventory, inventoryField)
	}
	var inventory Inventory
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		var f []string
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrInventory, n, err)
		}
		if len(f) != 8 || f[1] == "" || f[2] == "" || f[4] == "" {
			return nil, fmt.Errorf("%w: line %d: want [group, version, kind, namespace, name, uid, component, flag], got %s", ErrInventory, n, lines.Text())
		}
		inventory = append(inventory, Entry{
			Key:     manifest.Key{Group: f[0], Kind: f[2], Namespace: f[3], Name: f[4]},
			Version: f[1], UID: types.UID(f[5]), Component: f[6], Adopted: f[7] == "adopted",
		})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInventory, err)
	}
	return newInventory(inventory), nil
}

// newInventory sorts entries and keeps only the last of each key.
func newInventory(entries []Entry) Inventory {
	slices.SortStableFunc(entries, func(a, b Entry) int { return a.Key.Compare(b.Key) })
	var out Inventory
	for i, e := range entries {
		if i+1 == len(entries) || entries[i+1].Key != e.Key {
			out = append(out, e)
		}
	}
	return out
}

func (i Inventory) byKey() map[manifest.Key]Entry {
	m := make(map[manifest.Key]Entry, len(i))
	for _, e := range i {
		m[e.Key] = e
	}
	return m
}

// Before returns the inventory to store before the plan is executed, and false if the stored one is sufficient. It has all
// objects that are created, so that a crash never leaves an unknown object behind.
func (p Plan) Before() (Inventory, bool) {
	known := p.Inventory.byKey()
	entries, more := slices.Clone(p.Inventory), false
	for _, a := range p.Actions {
		if _, ok := known[a.Key]; !ok && a.Writes() {
			entries, more = append(entries, a.entry(a.UID)), true
		}
	}
	return newInventory(entries), more
}

// Done is the result of an action.
type Done struct {
	// UID is that of the existing object.
	UID types.UID
	// Deleted is true if the object does not exist any more.
	Deleted bool
}

// After returns the inventory after the actions in done. An action that is not in done was not executed, or failed.
func (p Plan) After(done map[manifest.Key]Done) Inventory {
	known := p.Inventory.byKey()
	var entries []Entry
	for _, a := range p.Actions {
		old, recorded := known[a.Key]
		switch result, ok := done[a.Key]; {
		case ok && result.Deleted:
		case ok:
			entries = append(entries, a.entry(result.UID))
		case a.Verb == None:
			entries = append(entries, a.entry(a.UID))
		case recorded:
			entries = append(entries, old)
		case a.Writes():
			entries = append(entries, a.entry(a.UID))
		}
	}
	return newInventory(entries)
}

func (a Action) entry(uid types.UID) Entry {
	return Entry{Key: a.Key, Version: a.Version, Component: a.Component, UID: uid, Adopted: a.Adopted}
}
