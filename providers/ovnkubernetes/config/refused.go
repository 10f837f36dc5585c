package config

import (
	"fmt"
	"slices"
	"strings"
)

// Refusal has settings of OVN-Kubernetes that are not supported.
type Refusal struct {
	// Flags, Variables and Keys are their names. A key is SECTION.KEY of the file.
	Flags, Variables, Keys []string
	// Reason is why they are not supported, and the way out.
	Reason string
	// valid is a value that is accepted nevertheless, since it changes nothing.
	valid string
}

// Refused returns all settings of OVN-Kubernetes that are not supported.
func Refused() []Refusal {
	return slices.Concat(refusedGateways(), refusedDatabases(), refusedProcesses())
}

func refusedGateways() []Refusal {
	return []Refusal{
		{Flags: []string{"gateway-local", "gateway-localnet"}, Reason: "the gateway mode is local already; remove the flag"},
		{Flags: []string{"gateway-interface", "gateway-nexthop", "gateway-spare-interface"}, Keys: []string{"gateway.interface", "gateway.next-hop"},
			Reason: "the gateway mode is local: pods leave through the routes of their node"},
		{Flags: []string{"init-gateways"}, Reason: "every node is a gateway for its own pods"},
		{Flags: []string{"nodeport"}, Keys: []string{"gateway.nodeport"}, Reason: "kube-proxy serves node ports"},
		{Flags: []string{"conntrack-zone"}, Keys: []string{"default.conntrack-zone"}, Reason: "Open vSwitch shares no connection tracking with the node"},
	}
}

func refusedDatabases() []Refusal {
	return []Refusal{
		{Flags: []string{"nb-client-privkey", "nb-client-cert", "nb-client-cacert", "nb-server-privkey", "nb-server-cert", "nb-server-cacert"},
			Keys:   []string{"ovnnorth.client-privkey", "ovnnorth.client-cert", "ovnnorth.client-cacert", "ovnnorth.server-privkey", "ovnnorth.server-cert", "ovnnorth.server-cacert"},
			Reason: "each master uses the northbound database of its node through a Unix socket, without TLS"},
		{Flags: []string{"sb-server-privkey", "sb-server-cert", "sb-server-cacert"}, Keys: []string{"ovnsouth.server-privkey", "ovnsouth.server-cert", "ovnsouth.server-cacert"},
			Reason: "servers and clients of the southbound database have the same certificate: set sb-client-privkey, sb-client-cert and sb-client-cacert"},
		{Flags: []string{"ha"}, Variables: []string{"OVN_MASTER"}, Reason: "masters elect a leader, and the databases are rebuilt from the Kubernetes API"},
		{Flags: []string{"enable-interconnect"}, Keys: []string{"ovnkubernetesfeature.enable-interconnect"}, Reason: "all nodes share one pair of databases"},
		{Flags: []string{"remove-node"}, Reason: "masters remove a node when its Node object is deleted"},
	}
}

func refusedProcesses() []Refusal {
	return []Refusal{
		{Variables: []string{"OVN_DAEMONSET_VERSION"}, valid: "3", Reason: "containers run one process each, which is version 3; set it to 3, or remove it"},
		{Flags: []string{"cni-plugin"}, Keys: []string{"cni.plugin"}, Reason: "the plugin is always ovn-k8s-cni-overlay"},
		{Flags: []string{"logfile"}, Keys: []string{"logging.logfile"}, Reason: "logs are written to standard error"},
		{Variables: []string{"OVN_LOG_NORTHD", "OVN_LOG_NB", "OVN_LOG_SB", "OVN_LOG_CONTROLLER"},
			Reason: "daemons write their messages to the log of their container; vlog/set of ovn-appctl changes the levels of one that runs"},
		{Variables: []string{"OVN_NORTHD_OPTS", "OVN_CONTROLLER_OPTS", "OVS_OPTIONS"}, Reason: "the network defines the arguments of daemons; use its other settings"},
		{Variables: []string{"OVS_USER_ID"}, Reason: "daemons run as the user of their container"},
		{Flags: []string{"pidfile"}, Reason: "the container runtime manages the process"},
	}
}

// refusedVariables returns an error for each unsupported environment variable.
func refusedVariables(variable func(string) string) []error {
	var errs []error
	for _, r := range Refused() {
		for _, name := range r.Variables {
			if v := variable(name); v != "" && v != r.valid {
				errs = append(errs, r.ErrorOf("variable "+name))
			}
		}
	}
	return errs
}

// refusedKey returns the error of an unsupported or unknown key of the file.
func refusedKey(key string) error {
	for _, r := range Refused() {
		if slices.Contains(r.Keys, key) {
			return r.ErrorOf(File + ", key " + key)
		}
	}
	return fmt.Errorf("%s, key %s is not known", File, key)
}

// ErrorOf returns the error of one of the settings, such as --FLAG.
func (r Refusal) ErrorOf(setting string) error {
	return fmt.Errorf("%s is not supported: %s", setting, r.Reason)
}

// Names returns all names as in the documentation: --FLAG, VARIABLE and [SECTION] KEY.
func (r Refusal) Names() []string {
	var out []string
	for _, f := range r.Flags {
		out = append(out, "--"+f)
	}
	out = append(out, r.Variables...)
	for _, k := range r.Keys {
		section, key, _ := strings.Cut(k, ".")
		out = append(out, "["+section+"] "+key)
	}
	return out
}
