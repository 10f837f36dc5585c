// Package agentfile has common functions for the configuration files of agents: the operator encodes them, an agent decodes and validates them. It is pure: no
// files, no network, no clock.
package agentfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxInterfaceName is the maximum length of a Linux interface name (IFNAMSIZ minus the terminating zero).
const maxInterfaceName = 15

// Decode decodes a file. Missing fields have their default values; an unknown field is an error. name is the file name for errors.
func Decode[C any](name string, data []byte, defaults C) (C, error) {
	var none C
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&defaults); err != nil {
		return none, fmt.Errorf("decode %s: %w", name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return none, fmt.Errorf("decode %s: unexpected data after the object", name)
	}
	return defaults, nil
}

// Encode returns the content of a file, with every field explicit. The output is deterministic.
func Encode(name string, config any) ([]byte, error) {
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return append(data, '\n'), nil
}

// ValidateVersion validates the format version of a file.
func ValidateVersion(at *field.Path, version, only int) field.ErrorList {
	if version != only {
		return field.ErrorList{field.Invalid(at, version, fmt.Sprintf("must be %d, the only supported version", only))}
	}
	return nil
}

// ValidateInterface validates the name of a network interface.
func ValidateInterface(at *field.Path, name string) field.ErrorList {
	if name == "" || name == "." || name == ".." || len(name) > maxInterfaceName || strings.ContainsAny(name, "/: \t\n") {
		return field.ErrorList{field.Invalid(at, name, "must be the name of a network interface: 1 to 15 characters without slash, colon or space")}
	}
	return nil
}

// ValidatePath validates the path of a file or directory.
func ValidatePath(at *field.Path, name string) field.ErrorList {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return field.ErrorList{field.Invalid(at, name, "must be an absolute path in its shortest form")}
	}
	return nil
}

// ValidateListen validates a listen address.
func ValidateListen(at *field.Path, address string) field.ErrorList {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = netip.ParseAddr(host)
	}
	if n, portErr := strconv.Atoi(port); err != nil || portErr != nil || n < 0 || n > 65535 {
		return field.ErrorList{field.Invalid(at, address, "must be an address and a port, for example 127.0.0.1:19099")}
	}
	return nil
}
