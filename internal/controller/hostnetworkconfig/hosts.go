package hostnetworkconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// rolePrefix is the prefix of the role labels of nodes.
const rolePrefix = "node-role.kubernetes.io/"

// roleOf returns the role by which a node is configured: master first, then a configured custom role, and worker otherwise.
func roleOf(n node, configured []string) string {
	for _, name := range []string{"master", "control-plane"} {
		if _, ok := n.Labels[rolePrefix+name]; ok {
			return "master"
		}
	}
	for _, role := range configured {
		if _, ok := n.Labels[rolePrefix+role]; ok && role != "worker" {
			return role
		}
	}
	return "worker"
}

// describeHosts writes the state of the hosts of a config into its status. It reports whether a BareMetalHost is awaited, and returns the
// requests to nodes and the reason why the rollout has stopped.
func describeHosts(w input, config roleConfig, configured []string, status *networkv1.HostNetworkConfigStatus) (waiting bool, requests nodereport.Requests, stop string) {
	seen := map[string]bool{}
	nodes := describeNodes(w, config, configured)
	if live(config.HostNetworkConfig) {
		requests, stop = rollOut(*config.Spec.Rollout, nodes, w.Requests[canonicalRole(config.Spec.Role)])
	}
	for _, n := range nodes {
		host := n.host
		seen[host.Name] = true
		status.Nodes++
		switch host.Result {
		case networkv1.Applied:
			status.AppliedNodes++
		case networkv1.RolledBack, networkv1.Failed:
			status.FailedNodes++
		}
		status.Hosts = append(status.Hosts, host)
	}
	for i := range config.Spec.Hosts {
		short := placement.ShortName(config.Spec.Hosts[i].Name)
		if seen[short] {
			continue
		}
		host := networkv1.HostStatus{Name: short, Result: networkv1.NoNode, Message: "no node of the role has this name yet"}
		if file, ok := config.rendered.Files.Get(placement.FileName(short)); ok {
			host.File, host.SHA256 = file.Name, digest(file.Content)
		}
		if missing := machineMissing(w, config, short); missing != "" {
			host.Message, waiting = missing, true
		}
		status.Hosts = append(status.Hosts, host)
	}
	slices.SortFunc(status.Hosts, func(a, b networkv1.HostStatus) int { return strings.Compare(a.Name, b.Name) })
	status.Hosts = slices.CompactFunc(status.Hosts, func(a, b networkv1.HostStatus) bool { return a.Name == b.Name })
	return waiting, requests, stop
}

// describeNodes returns the nodes of a config by name, with the state of their documents.
func describeNodes(w input, config roleConfig, configured []string) []nodeState {
	var nodes []nodeState
	for _, n := range w.Nodes {
		if roleOf(n, configured) != canonicalRole(config.Spec.Role) {
			continue
		}
		report := w.Reports[n.Name]
		host := describeNode(n, config, report)
		if w.MachineConfigs && report.Result == "" && host.Result == networkv1.Pending && config.Spec.Applier != networkv1.ApplierHostNetwork {
			host.Message = "the service of the machine-config operator applies the document and reports nothing; spec.applier: HostNetwork replaces it"
		}
		nodes = append(nodes, nodeState{host: host, report: report, ready: n.Ready})
	}
	return nodes
}

// machineMissing returns a message if a required BareMetalHost does not exist.
func machineMissing(w input, config roleConfig, short string) string {
	if w.Machines == nil {
		return ""
	}
	for _, d := range config.rendered.PreBoot {
		if _, exists := w.Machines[d.BareMetalHost]; d.Host == short && !exists {
			return fmt.Sprintf("there is no BareMetalHost %s yet; its Secret is ready", d.BareMetalHost)
		}
	}
	return ""
}

// describeNode compares the document of a node with its report.
func describeNode(n node, config roleConfig, report nodereport.Report) networkv1.HostStatus {
	status := networkv1.HostStatus{Name: placement.ShortName(n.host()), Node: n.Name, Result: networkv1.Pending}
	choice, err := placement.Select(config.rendered.Files, placement.Host{Name: n.host()})
	if err == nil {
		status.File = choice.File.Name
	}
	// The node knows its interfaces, so a file that it has selected by one of them is right.
	if file, ok := config.rendered.Files.Get(report.File); ok && choice.Rule != placement.ByShortName && choice.Rule != placement.ByFullName {
		status.File = file.Name
	}
	file, _ := config.rendered.Files.Get(status.File)
	if status.File != "" {
		status.SHA256 = digest(file.Content)
	}
	if !report.Time.IsZero() {
		at := metav1.NewTime(report.Time).Rfc3339Copy()
		status.Time = &at
	}
	status.Result, status.Message = resultOf(status, report)
	return status
}

func resultOf(status networkv1.HostStatus, report nodereport.Report) (networkv1.Result, string) {
	switch {
	case report.Delivery != "":
		return networkv1.Failed, "files cannot be installed on the node: " + report.Delivery
	case status.File == "" && len(report.File) == 0:
		return networkv1.Applied, "there is no document for this node; it configures itself"
	case report.Node == "":
		return networkv1.Pending, "the node has not reported"
	case report.Result == "":
		return networkv1.Pending, "the node has not run host-network since its boot"
	case report.SHA256 != status.SHA256:
		return networkv1.Pending, fmt.Sprintf("the node has %s of another content; it applies the new one at its next boot", orAutomatic(report.File))
	case report.Result == "applied" || report.Result == "unchanged":
		return networkv1.Applied, ""
	case report.Result == "rolled-back":
		return networkv1.RolledBack, report.Message
	}
	return networkv1.Failed, report.Message
}

func orAutomatic(file string) string {
	if file == "" {
		return "a network"
	}
	return file
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
