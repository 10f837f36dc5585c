package placement

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
)

// Index maps MAC addresses, as six bytes in lower case with colons, to names of files.
type Index map[string]string

// ParseMAC returns a MAC address in the form of an Index.
func ParseMAC(text string) (string, error) {
	mac, err := net.ParseMAC(strings.TrimSpace(text))
	if err != nil || len(mac) != 6 && len(mac) != 20 {
		return "", fmt.Errorf("%q is not a MAC address; write six bytes, for example 52:54:00:12:34:56", text)
	}
	return mac.String(), nil
}

// DecodeIndex decodes an IndexFile. All addresses must be valid, and all files must have names that Select accepts.
func DecodeIndex(content []byte) (Index, error) {
	var raw map[string]string
	if err := json.Unmarshal(content, &raw); err != nil {
		return nil, fmt.Errorf("decode %s: %w", IndexFile, err)
	}
	index := Index{}
	for text, file := range raw {
		mac, err := ParseMAC(text)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", IndexFile, err)
		}
		if !strings.HasSuffix(file, Extension) || strings.ContainsAny(file, "/\x00") {
			return nil, fmt.Errorf("decode %s: %q is not the name of a file that ends in %s", IndexFile, file, Extension)
		}
		if other, ok := index[mac]; ok && other != file {
			return nil, fmt.Errorf("decode %s: %s is written twice, for %s and %s", IndexFile, mac, other, file)
		}
		index[mac] = file
	}
	return index, nil
}

// Encode returns the content of an IndexFile. It is deterministic.
func (i Index) Encode() []byte {
	content, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("a map of strings cannot be encoded: %v", err)) // never
	}
	return append(content, '\n')
}
