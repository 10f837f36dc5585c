// Package agentfile is what the configuration files of agents share: the operator encodes them, an agent decodes and validates them. It
// is pure: no files, no network, no clock.
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

// maxInterfaceName is the longest name of a Linux network interface (IFNAMSIZ less the final zero).
const maxInterfaceName = 15

// Decode reads a file. What the file does not say has its default; a field that is not known is an error. name is the file's, for
// errors.
func Decode[C any](name string, data []byte, defaults C) (C, error) {
	var none C
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&defaults); err != nil {
		return none, fmt.Errorf("decode %s: %w", name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return none, fmt.Errorf("decode %s: there is something after the object", name)
	}
	return defaults, nil
}

// Encode returns a file's content: every field explicit, the same bytes for the same configuration.
func Encode(name string, config any) ([]byte, error) {
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	return append(data, '\n'), nil
}

// ValidateVersion checks the version of a file's format.
func ValidateVersion(at *field.Path, version, only int) field.ErrorList {
	if version != only {
		return field.ErrorList{field.Invalid(at, version, fmt.Sprintf("must be %d, the only version there is", only))}
	}
	return nil
}

// ValidateInterface checks the name of a network interface.
func ValidateInterface(at *field.Path, name string) field.ErrorList {
	if name == "" || name == "." || name == ".." || len(name) > maxInterfaceName || strings.ContainsAny(name, "/: \t\n") {
		return field.ErrorList{field.Invalid(at, name, "must be the name of a network interface: 1 to 15 characters without slash, colon or space")}
	}
	return nil
}

// ValidatePath checks the path of a file or directory.
func ValidatePath(at *field.Path, name string) field.ErrorList {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return field.ErrorList{field.Invalid(at, name, "must be an absolute path in its shortest form")}
	}
	return nil
}

// ValidateListen checks an address on which an agent listens.
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
