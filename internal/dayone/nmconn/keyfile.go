package nmconn

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// sectionOrder returns the order in which NMState writes sections; the last four are additions of this package.
func sectionOrder() []string {
	return []string{
		"connection", "bond", "bond-port", "bridge", "bridge-port", "ipv4", "ipv6", "ovs-bridge", "ovs-port",
		"ovs-interface", "ovs-patch", "ovs-dpdk", "ethernet", "vlan", "vxlan", "sriov", "macvlan", "vrf", "veth", "user",
		"802-1x", "ethtool", "infiniband", "ovs-external-ids", "ovs-other-config", "macsec", "hsr", "ipvlan",
		"match",
	}
}

// keyfile is a connection profile: sections of keys and values.
type keyfile map[string]map[string]string

// section adds a section if it is missing. Sections without keys are also written, since they define the type of the connection.
func (k keyfile) section(name string) map[string]string {
	if k[name] == nil {
		k[name] = map[string]string{}
	}
	return k[name]
}

// set sets a key. It omits nil pointers and empty text.
func (k keyfile) set(section, key string, value any) {
	text := format(value)
	if text == "" {
		return
	}
	k.section(section)[key] = text
}

// format returns a value in NetworkManager's syntax.
func format(value any) string {
	switch v := value.(type) {
	case string:
		return escape(v)
	case []string:
		return escape(strings.Join(v, ";"))
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case *bool:
		return pointed(v, strconv.FormatBool)
	case *int32:
		return pointed(v, func(i int32) string { return strconv.Itoa(int(i)) })
	case *uint8:
		return pointed(v, number[uint8])
	case *uint16:
		return pointed(v, number[uint16])
	case *uint32:
		return pointed(v, number[uint32])
	case *uint64:
		return pointed(v, number[uint64])
	}
	return fmt.Sprint(value)
}

func pointed[T any](v *T, f func(T) string) string {
	if v == nil {
		return ""
	}
	return f(*v)
}

func number[T uint8 | uint16 | uint32 | uint64](v T) string { return strconv.FormatUint(uint64(v), 10) }

// digit returns a boolean as 0 or 1.
func digit(b *bool) string {
	return pointed(b, func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	})
}

// escape escapes a value as in GLib's key files.
func escape(s string) string {
	if !strings.ContainsAny(s, "\\\n\r\t") && !strings.HasPrefix(s, " ") {
		return s
	}
	s = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	if strings.HasPrefix(s, " ") {
		return `\s` + s[1:]
	}
	return s
}

// String returns the text of the file, with sections in sectionOrder and sorted keys.
func (k keyfile) String() string {
	var parts []string
	for _, name := range sectionOrder() {
		keys, ok := k[name]
		if !ok {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "[%s]\n", name)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprintf(&b, "%s=%s\n", key, keys[key])
		}
		parts = append(parts, b.String())
	}
	return strings.Join(parts, "\n")
}

// uuid returns a deterministic UUID from the type and the interface of a connection: version 5 of RFC 9562, which uses SHA-1, in the namespace of URLs.
func uuid(kind, name string) string {
	namespace := []byte{0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}
	sum := sha1.Sum(append(namespace, kind+"://"+name...))
	sum[6] = sum[6]&0x0f | 0x50
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
