package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// networkDocument has the field of a network configuration that the lab reads: the
// Service CIDR, a list in a Network and a single prefix in a NetworkConfig.
type networkDocument struct {
	Kind string `json:"kind"`
	Spec struct {
		ServiceNetwork any `json:"serviceNetwork"`
	} `json:"spec"`
}

// ServiceNetworkOf returns the Service CIDRs in a file of YAML documents that
// contains a Network or a NetworkConfig, nil if it has none. The flags of the API
// server must have the same CIDRs.
func ServiceNetworkOf(file []byte) ([]netip.Prefix, error) {
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(file), 4096)
	for {
		var doc networkDocument
		err := docs.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the network configuration: %w", err)
		}
		if doc.Kind == "Network" || doc.Kind == "NetworkConfig" {
			return parsePrefixes(doc.Spec.ServiceNetwork)
		}
	}
}

func parsePrefixes(v any) ([]netip.Prefix, error) {
	var list []any
	switch v := v.(type) {
	case nil:
	case []any:
		list = v
	default:
		list = []any{v}
	}
	var prefixes []netip.Prefix
	for _, item := range list {
		p, err := netip.ParsePrefix(fmt.Sprint(item))
		if err != nil {
			return nil, fmt.Errorf("read spec.serviceNetwork: %w", err)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}
