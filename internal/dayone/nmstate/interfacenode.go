package nmstate

import (
	"cmp"
	"net"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// interfaceNode returns the keys of an interface to decode. Like in NMState, only the identifying keys of an absent interface are used. Sections of other types
// are refused.
func (d *decoder) interfaceNode(n *yaml.Node, path string, iface *Interface) *yaml.Node {
	kind, state := InterfaceType(textOf(n, "type")), State(textOf(n, "state"))
	iface.Type = kind
	kept := &yaml.Node{Kind: n.Kind, Line: n.Line, Column: n.Column}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if state == StateAbsent && !slices.Contains([]string{"name", "type", "state", "identifier", "mac-address", "pci-address", "profile-name"}, k.Value) {
			continue
		}
		if types := sectionTypes(k.Value); types != nil && !slices.Contains(types, kind) && !isNull(v) {
			d.errorf(k, join(path, k.Value), "belongs to %s, and this interface is %s", typeList(types), orUnset(kind))
			continue
		}
		kept.Content = append(kept.Content, k, v)
	}
	return kept
}

// address converts the value of the key mac-address or pci-address to its canonical form. form describes the format in the error of an invalid value.
func (d *decoder) address(path, key string, value *string, parse func(string) (string, bool), form string) {
	if *value == "" {
		return
	}
	normal, ok := parse(*value)
	if !ok {
		at := join(path, key)
		d.errorf(&yaml.Node{Line: d.lines[at]}, at, "is %q, which is not %s", *value, form)
		return
	}
	*value = normal
}

// bridge decodes the section of both types of bridge.
func (d *decoder) bridge(n *yaml.Node, path string, iface *Interface) {
	if isNull(n) {
		return
	}
	if iface.Type == TypeOVSBridge {
		iface.OVSBridge = &OVSBridge{}
		d.decodeInto(n, path, iface.OVSBridge)
		return
	}
	iface.LinuxBridge = &LinuxBridge{}
	d.decodeInto(n, path, iface.LinuxBridge)
}

func textOf(n *yaml.Node, key string) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i+1].Kind == yaml.ScalarNode && !isNull(n.Content[i+1]) {
			return n.Content[i+1].Value
		}
	}
	return ""
}

func typeList(types []InterfaceType) string {
	var out []string
	for _, t := range types {
		if t != "" {
			out = append(out, "type "+string(t))
		}
	}
	return strings.Join(out, " and ")
}

func orUnset(t InterfaceType) string {
	if t == "" {
		return "without a type"
	}
	return "of type " + string(t)
}

func (IPv4) ignored() map[string]string {
	return map[string]string{
		"dhcp-duid": "a DUID belongs to ipv6", "addr-gen-mode": "it belongs to ipv6", "token": "a token belongs to ipv6",
	}
}

func (IPv6) ignored() map[string]string {
	return map[string]string{"dhcp-client-id": "a client identifier belongs to ipv4"}
}

// MAC returns a MAC address in upper case with colons, and whether it is valid (6 bytes, or 20 for InfiniBand).
func MAC(s string) (string, bool) {
	hw, err := net.ParseMAC(s)
	return strings.ToUpper(hw.String()), err == nil && (len(hw) == 6 || len(hw) == 20)
}

var pciAddress = regexp.MustCompile(`^(?:([0-9a-f]{4}):)?([0-9a-f]{2}:[01][0-9a-f]\.[0-7])$`)

// PCI returns a PCI address in the form of sysfs, and whether it is valid. The domain may be omitted, as in lspci.
func PCI(s string) (string, bool) {
	m := pciAddress.FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return "", false
	}
	return cmp.Or(m[1], "0000") + ":" + m[2], true
}
