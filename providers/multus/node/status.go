package node

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/types/create"

	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// networkStatus is an entry of the annotation k8s.v1.cni.cncf.io/network-status: the keys of the standard 1.3, and mtu and gateway, which readers expect.
type networkStatus struct {
	Name         string   `json:"name"`
	Interface    string   `json:"interface,omitempty"`
	IPs          []string `json:"ips,omitempty"`
	MAC          string   `json:"mac,omitempty"`
	MTU          int      `json:"mtu,omitempty"`
	Default      bool     `json:"default"`
	DNS          dns      `json:"dns"`
	DefaultRoute []string `json:"default-route,omitempty"`
	Gateway      []string `json:"gateway,omitempty"`
	DeviceInfo   any      `json:"device-info,omitempty"`
}

type dns struct {
	Nameservers []string `json:"nameservers,omitempty"`
	Domain      string   `json:"domain,omitempty"`
	Search      []string `json:"search,omitempty"`
}

// deviceInfo identifies a device in the form of the device information specification.
type deviceInfo struct {
	Type    string `json:"type"`
	Version string `json:"version"`
	PCI     *pci   `json:"pci,omitempty"`
}

type pci struct {
	Address string `json:"pci-address"`
}

// statusOf returns the content of the annotation for a pod's networks, with one entry for each interface in the pod.
func statusOf(networks []wire.Network) (string, error) {
	entries := []networkStatus{}
	for _, n := range networks {
		result, err := decodeResult(n.Result)
		if err != nil {
			return "", fmt.Errorf("network %s: %w", n.Name, err)
		}
		entries = append(entries, entriesOf(n, result)...)
	}
	raw, err := json.MarshalIndent(entries, "", "    ")
	if err != nil {
		return "", fmt.Errorf("encode network status: %w", err)
	}
	return string(raw), nil
}

func decodeResult(raw json.RawMessage) (*current.Result, error) {
	result, err := create.CreateFromBytes(raw)
	if err != nil {
		return nil, fmt.Errorf("read the result of its plugins: %w", err)
	}
	return current.NewResultFromResult(result)
}

// entriesOf returns the entries of a network: one for each interface inside the sandbox, or one without interface data if there is none.
func entriesOf(n wire.Network, result *current.Result) []networkStatus {
	base := networkStatus{Name: n.Name, Default: n.Default, DNS: dns{result.DNS.Nameservers, result.DNS.Domain, result.DNS.Search}}
	switch {
	case len(n.DeviceInfo) > 0:
		base.DeviceInfo = n.DeviceInfo
	case n.DeviceID != "":
		base.DeviceInfo = &deviceInfo{Type: "pci", Version: "1.0.0", PCI: &pci{n.DeviceID}}
	}
	var entries []networkStatus
	for i, iface := range result.Interfaces {
		if iface.Sandbox == "" {
			continue
		}
		e := base
		e.Interface, e.MAC, e.MTU = iface.Name, iface.Mac, n.MTU
		if iface.Mtu > 0 {
			e.MTU = iface.Mtu
		}
		e.addAddresses(result, func(ip *current.IPConfig) bool { return ip.Interface != nil && *ip.Interface == i })
		if len(entries) == 0 {
			e.addAddresses(result, func(ip *current.IPConfig) bool { return ip.Interface == nil })
			e.addRoutes(result)
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		base.Interface, base.MTU = n.Interface, n.MTU
		base.addAddresses(result, func(*current.IPConfig) bool { return true })
		base.addRoutes(result)
		entries = append(entries, base)
	}
	return entries
}

func (e *networkStatus) addAddresses(result *current.Result, of func(*current.IPConfig) bool) {
	for _, ip := range result.IPs {
		if !of(ip) {
			continue
		}
		e.IPs = append(e.IPs, ip.Address.IP.String())
		if ip.Gateway != nil {
			e.Gateway = append(e.Gateway, ip.Gateway.String())
		}
	}
}

// addRoutes adds the gateways of the default routes.
func (e *networkStatus) addRoutes(result *current.Result) {
	for _, r := range result.Routes {
		if ones, _ := r.Dst.Mask.Size(); ones == 0 && r.Dst.IP.IsUnspecified() && r.GW != nil {
			e.DefaultRoute = append(e.DefaultRoute, r.GW.String())
		}
	}
}

// sentence returns the event message for a network that was attached to a pod.
func sentence(n wire.Network, result *current.Result) string {
	var addresses []string
	for _, ip := range result.IPs {
		addresses = append(addresses, (&net.IPNet{IP: ip.Address.IP, Mask: ip.Address.Mask}).String())
	}
	return fmt.Sprintf("Add %s [%s] from %s", n.Interface, strings.Join(addresses, " "), n.Name)
}
