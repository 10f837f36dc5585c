// Package docdiff compares two documents for users. It is pure.
package docdiff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// Difference is a difference between two documents. From is empty if only the second document has the value, To if only the first has.
type Difference struct {
	// Subject is the part of the document: "interface br-ex (ovs-interface)", "routes", "rules", "dns", "document".
	Subject string `json:"subject"`
	// What is the name of the value, for example "mtu", "address 192.0.2.1/24", or "0.0.0.0/0 via 192.0.2.1 dev br-ex".
	What string `json:"what"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// present is the value of entries without a value.
const present = "yes"

// String returns one line: + for an addition, - for a removal, ~ for a change.
func (d Difference) String() string {
	value := func(v string) string {
		if v == present {
			return ""
		}
		return ": " + v
	}
	switch {
	case d.From == "":
		return "+ " + d.What + value(d.To)
	case d.To == "":
		return "- " + d.What + value(d.From)
	}
	return fmt.Sprintf("~ %s: %s -> %s", d.What, d.From, d.To)
}

// Diff returns the differences of two documents, by interface, address, route, rule and resolver. It ignores the order of interfaces, addresses and routes.
// A nil document is empty.
func Diff(a, b *nmstate.Document) ([]Difference, error) {
	before, err := facts(a)
	if err != nil {
		return nil, err
	}
	after, err := facts(b)
	if err != nil {
		return nil, err
	}
	var all []Difference
	for key, from := range before {
		if to := after[key]; to != from {
			all = append(all, Difference{key.subject, key.what, from, to})
		}
	}
	for key, to := range after {
		if _, ok := before[key]; !ok {
			all = append(all, Difference{key.subject, key.what, "", to})
		}
	}
	slices.SortFunc(all, func(x, y Difference) int {
		return cmp.Or(cmp.Compare(x.Subject, y.Subject), cmp.Compare(x.What, y.What))
	})
	return all, nil
}

// key identifies a value of a document.
type key struct{ subject, what string }

// facts flattens a document to values.
func facts(doc *nmstate.Document) (map[key]string, error) {
	all := map[key]string{}
	if doc == nil {
		return all, nil
	}
	for _, iface := range doc.Interfaces {
		subject := fmt.Sprintf("interface %s (%s)", iface.Name, iface.Kind())
		all[key{subject, "interface"}] = present
		plain, err := plainOf(iface)
		if err != nil {
			return nil, err
		}
		delete(plain, "name")
		delete(plain, "type")
		for _, family := range []string{"ipv4", "ipv6"} {
			ip, _ := plain[family].(map[string]any)
			delete(ip, "address")
		}
		for _, a := range iface.Static() {
			all[key{subject, "address " + a.Prefix().String()}] = present
		}
		flatten(all, subject, "", plain)
	}
	if err := flattenRest(all, doc); err != nil {
		return nil, err
	}
	return all, nil
}

// flattenRest flattens all parts except interfaces.
func flattenRest(all map[key]string, doc *nmstate.Document) error {
	if doc.Routes != nil {
		for _, r := range doc.Routes.Config {
			name := r.Destination
			if r.RouteType != "" {
				name = string(r.RouteType) + " " + name
			}
			for _, part := range [][2]string{{" via ", r.NextHopAddress}, {" dev ", r.NextHopInterface}, {" ", r.State}} {
				if part[1] != "" {
					name += part[0] + part[1]
				}
			}
			if r.TableID != nil && *r.TableID != 0 && *r.TableID != 254 {
				name += fmt.Sprintf(" table %d", *r.TableID)
			}
			r.Destination, r.NextHopAddress, r.NextHopInterface, r.RouteType, r.State, r.TableID = "", "", "", "", "", nil
			plain, err := plainOf(r)
			if err != nil {
				return err
			}
			all[key{"routes", name}] = orPresent(plain)
		}
	}
	if doc.RouteRules != nil {
		for _, rule := range doc.RouteRules.Config {
			plain, err := plainOf(rule)
			if err != nil {
				return err
			}
			all[key{"rules", text(plain)}] = present
		}
	}
	rest := *doc
	rest.Interfaces, rest.Routes, rest.RouteRules, rest.DNS = nil, nil, nil, nil
	plain, err := plainOf(rest)
	if err != nil {
		return err
	}
	flatten(all, "document", "", plain)
	if doc.DNS == nil || doc.DNS.Config == nil {
		return nil
	}
	if plain, err = plainOf(doc.DNS.Config); err != nil {
		return err
	}
	flatten(all, "dns", "", plain)
	return nil
}

// plainOf returns a value converted to decoded JSON.
func plainOf(v any) (map[string]any, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("compare documents: %w", err)
	}
	var plain map[string]any
	if err := json.Unmarshal(encoded, &plain); err != nil {
		return nil, fmt.Errorf("compare documents: %w", err)
	}
	return plain, nil
}

// flatten adds the leaves of a tree. Lists whose entries have unique names are flattened by name; other lists are leaves.
func flatten(all map[key]string, subject, prefix string, node any) {
	name := func(next string) string { return strings.TrimPrefix(prefix+"."+next, ".") }
	switch node := node.(type) {
	case map[string]any:
		for k, v := range node {
			flatten(all, subject, name(k), v)
		}
		return
	case []any:
		if names := entryNames(node); names != nil {
			for i, entry := range node {
				inner := maps.Clone(entry.(map[string]any))
				delete(inner, "name")
				all[key{subject, prefix + "[" + names[i] + "]"}] = present
				flatten(all, subject, prefix+"["+names[i]+"]", inner)
			}
			return
		}
	}
	all[key{subject, prefix}] = text(node)
}

// entryNames returns the names of entries if all have a unique name.
func entryNames(entries []any) []string {
	var names []string
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		name, ok := fields["name"].(string)
		if !ok || slices.Contains(names, name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

func text(v any) string {
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // it was JSON before
	}
	return string(encoded)
}

func orPresent(plain map[string]any) string {
	if len(plain) == 0 {
		return present
	}
	return text(plain)
}
