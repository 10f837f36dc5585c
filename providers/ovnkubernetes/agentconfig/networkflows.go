package agentconfig

import (
	"encoding/json"
	"fmt"
	"net/netip"
)

const (
	// KeyNetworkFlows has the collectors of flow records: NetworkFlows as JSON. It is omitted without collectors. It is mounted as NetworkFlowsFile, whose
	// content changes while pods run.
	KeyNetworkFlows = "network_flows"
	// NetworkFlowsDir is the directory of NetworkFlowsFile in containers.
	NetworkFlowsDir = "/etc/ovn-network-flows"
	// NetworkFlowsFile is the file of KeyNetworkFlows.
	NetworkFlowsFile = NetworkFlowsDir + "/network-flows.json"
)

// NetworkFlows are the collectors of flow records by protocol.
type NetworkFlows struct {
	NetFlow []netip.AddrPort `json:"netFlow,omitempty"`
	SFlow   []netip.AddrPort `json:"sFlow,omitempty"`
	IPFIX   []netip.AddrPort `json:"ipfix,omitempty"`
}

// Any reports whether there is a collector.
func (n NetworkFlows) Any() bool { return len(n.NetFlow)+len(n.SFlow)+len(n.IPFIX) > 0 }

// Encode returns the value of KeyNetworkFlows.
func (n NetworkFlows) Encode() (string, error) {
	out, err := json.Marshal(n)
	if err != nil {
		return "", fmt.Errorf("encode the collectors of flow records: %w", err)
	}
	return string(out), nil
}

// DecodeNetworkFlows decodes NetworkFlowsFile.
func DecodeNetworkFlows(content []byte) (NetworkFlows, error) {
	var n NetworkFlows
	if err := json.Unmarshal(content, &n); err != nil {
		return n, fmt.Errorf("read the collectors of flow records: %w", err)
	}
	return n, nil
}
