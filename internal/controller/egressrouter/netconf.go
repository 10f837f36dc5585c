package egressrouter

import (
	"fmt"
	"net/netip"
	"strings"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// netConf is the configuration of the CNI plug-in egress-router (package internal/multinet/egressrouter), in the format of OpenShift's.
type netConf struct {
	CNIVersion    string        `json:"cniVersion"`
	Type          string        `json:"type"`
	Name          string        `json:"name"`
	InterfaceType string        `json:"interfaceType"`
	InterfaceArgs interfaceArgs `json:"interfaceArgs"`
	IP            ipConf        `json:"ip"`
}

type interfaceArgs struct {
	// Mode is a macvlan mode of Linux, in lower case.
	Mode string `json:"mode"`
	// Master is the parent interface. If it is empty, it is that of the default route.
	Master string `json:"master,omitempty"`
}

type ipConf struct {
	// Addresses has exactly one entry.
	Addresses []string `json:"addresses"`
	// Gateway is the gateway of the address.
	Gateway string `json:"gateway"`
	// Destinations are rules: "port protocol address", "port protocol address port" or, for all ports, "address". The first match applies.
	// All must have the address's family.
	Destinations []string `json:"destinations"`
}

// cniVersion is the version of the CNI specification, the same as in OpenShift.
const cniVersion = "0.4.0"

// configOf returns the configuration for one address of a router. The plug-in accepts one address and rules of its family per configuration.
func configOf(r *networkv1.EgressRouter, a *networkv1.EgressRouterAddress) (netConf, error) {
	prefix, err := netip.ParsePrefix(a.IP)
	if err != nil {
		return netConf{}, fmt.Errorf("read address: %w", err)
	}
	macvlan := r.Spec.NetworkInterface.Macvlan
	mode := macvlan.Mode
	if mode == "" {
		mode = networkv1.MacvlanModeBridge
	}
	return netConf{
		CNIVersion: cniVersion, Type: "egress-router", Name: attachmentName(r.Name, prefix.Addr().Is6()),
		InterfaceType: "macvlan",
		InterfaceArgs: interfaceArgs{Mode: strings.ToLower(string(mode)), Master: macvlan.Master},
		IP:            ipConf{Addresses: []string{a.IP}, Gateway: a.Gateway, Destinations: destinations(r.Spec.Redirect, prefix.Addr().Is6())},
	}, nil
}

// destinations returns the rules of an IP family in the plug-in's format. The fallback is the last one.
func destinations(redirect *networkv1.RedirectConfig, ipv6 bool) []string {
	all := []string{}
	if redirect == nil {
		return all
	}
	for _, rule := range redirect.RedirectRules {
		if strings.Contains(rule.DestinationIP, ":") != ipv6 {
			continue
		}
		text := fmt.Sprintf("%d %s %s", rule.Port, rule.Protocol, rule.DestinationIP)
		if rule.TargetPort != 0 && rule.TargetPort != rule.Port {
			text += fmt.Sprintf(" %d", rule.TargetPort)
		}
		all = append(all, text)
	}
	if redirect.FallbackIP != "" && strings.Contains(redirect.FallbackIP, ":") == ipv6 {
		all = append(all, redirect.FallbackIP)
	}
	return all
}
