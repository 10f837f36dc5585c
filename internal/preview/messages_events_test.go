package preview_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// event is an event by which the programs of a network report a problem: on which objects, why, and what to do.
type event struct{ reason, on, cause, remedy string }

// shared are the events of both networks.
var shared = []event{
	{"ErrorAddingPodToNetwork", "Pod", "the agent of the node could not attach the pod, and the same request would fail again; the message has the error", "resolve what the message names; the container runtime repeats the request"},
}

func eventsOfOVN() []event {
	return append([]event{
		{"AddressesExhausted", "Pod", "the blocks of the node have no free address", "delete pods of the node, or add nodes; a waiting pod gets the next free address"},
		{"BlocksExhausted", "Node", "all blocks of the cluster network are in use", "add a cluster network, or remove nodes"},
		{"InvalidACLLogging", "Namespace", "a severity in the annotation `k8s.ovn.org/acl-logging` is not one of OVN", "correct the annotation; the other severity is effective"},
	}, shared...)
}

func eventsOfSDN() []event {
	return append([]event{
		{"ChangeNetworkRefused", "NetNamespace", "the value of the annotation `pod.network.openshift.io/multitenant.change-network` cannot be applied, or the mode has no such changes", "use the command that `cno pod-network` has for the change, in mode Multitenant"},
		{"ClosedOnNode", "NetworkPolicy, EgressNetworkPolicy, Service and others", "Open vSwitch, nftables or a limit refuses the rules of the object: the node drops the packets that it would allow", "reduce the rules of the object, or of the other objects of its namespace; a change of the object is tried again at once"},
		{"EgressIPConflict", "NetNamespace, HostSubnet", "two namespaces request the address, two nodes have it, or a node has two addresses of one namespace", "remove the address from all but one of the objects that the message names"},
		{"EgressIPInvalid", "NetNamespace, HostSubnet", "the address is not a unicast IPv4 address outside the pools and the Service CIDR, or is that of a node", "choose another address"},
		{"EgressIPRefused", "HostSubnet", "the node does not take the address: it is its own, outside the network of its interface, or belongs to another machine", "choose an address of the node's network that no machine has; the agent tries again every two seconds"},
		{"EgressIPUnassigned", "NetNamespace", "no node has the address, or none can take it", "add the address to `egressIPs` of a HostSubnet, or its range to `egressCIDRs`"},
		{"EgressNetworkPolicyInvalid", "EgressNetworkPolicy", "a stored rule is invalid: it denies, or matches nothing", "correct the rule that the message names"},
		{"EgressNetworkPolicyNameUnresolved", "EgressNetworkPolicy", "the name of a rule has no address on a node with pods of the namespace", "correct the name, or its DNS record"},
		{"EgressNetworkPolicyNotApplied", "EgressNetworkPolicy", "the namespace has a second one, is global, or shares its VNID", "delete all but one, or isolate the namespace: `cno pod-network isolate-projects`"},
		{"HostIPUnusable", "Node", "the node has no IPv4 InternalIP, one of the pools or the Service CIDR, or that of another node", "give the node another address (kubelet `--node-ip`)"},
		{"HostSubnetInvalid", "HostSubnet", "a stored HostSubnet has the name or the address of another host, or the subnet of an older one", "correct the field that the message names, or delete the HostSubnet"},
		{"NetNamespaceInvalid", "NetNamespace", "a stored NetNamespace has the name of another namespace, or a VNID that is reserved", "correct the field that the message names, or delete the NetNamespace; it is created again"},
		{"NotSupportedInMode", "HostSubnet, NetNamespace, EgressNetworkPolicy", "mode Subnet has no egress IPs, no egress firewalls and no multicast", "remove the setting"},
		{"PodAddressLost", "Pod", "the node has lost the block of the pod's address, which another node may have now", "wait: the controller evicts the pod if another one replaces it; otherwise delete it with the command in the message"},
		{"SubnetsExhausted", "Node", "no subnet of the pools is free", "delete Nodes whose machine no longer exists ([runbook](runbooks/NetworkSDNSubnetsExhausted.md))"},
		{"UnidleFailed", "Service", "a target of the annotation `idling.alpha.openshift.io/unidle-targets` cannot be scaled up", "scale the workload that the message names"},
		{"VNIDInUse", "NetNamespace", "an older NetNamespace has the same VNID", "delete the NetNamespace, so that it is created again with another VNID"},
		{"VNIDsExhausted", "NetNamespace", "all 16.7 million VNIDs are in use", "delete namespaces"},
	}, shared...)
}

// table returns the rows as a table in Markdown.
func table(all []event) string {
	var out strings.Builder
	out.WriteString("| event | on | cause | what to do |\n|---|---|---|---|\n")
	for _, e := range all {
		out.WriteString("| `" + e.reason + "` | " + strings.Join([]string{e.on, e.cause, e.remedy}, " | ") + " |\n")
	}
	return out.String()
}

// reasonConstant matches the names of constants for reasons.
var reasonConstant = regexp.MustCompile(`^[rR]eason[A-Z]`)

// TestPageHasEveryEventOfTheNetworks compares the rows with the reasons in the sources of the programs.
func TestPageHasEveryEventOfTheNetworks(t *testing.T) {
	for _, row := range []struct {
		network string
		sources []string
		// conditions are reasons of conditions, which docs/status.md lists.
		conditions []string
		events     []event
	}{
		{"OVN-Kubernetes", []string{"providers/ovnkubernetes", "internal/cniserver"}, nil, eventsOfOVN()},
		{"OpenShift SDN", []string{"providers/openshiftsdn", "api/sdn", "internal/cniserver"}, []string{"NetworkPoliciesNotEnforced"}, eventsOfSDN()},
	} {
		var documented []string
		for _, e := range row.events {
			documented = append(documented, e.reason)
		}
		reasons := reasonsIn(t, row.sources)
		for _, reason := range reasons {
			if !slices.Contains(documented, reason) && !slices.Contains(row.conditions, reason) {
				t.Errorf("%s: %s has no row", row.network, reason)
			}
		}
		for _, reason := range append(documented, row.conditions...) {
			if !slices.Contains(reasons, reason) {
				t.Errorf("%s: no program has the reason %s", row.network, reason)
			}
		}
	}
}

// reasonsIn returns the values of the constants for reasons in directories of the repository.
func reasonsIn(t *testing.T, directories []string) []string {
	t.Helper()
	var reasons []string
	for _, directory := range directories {
		err := filepath.WalkDir(filepath.Join("../..", directory), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, name := range spec.Names {
					if !reasonConstant.MatchString(name.Name) || i >= len(spec.Values) {
						continue
					}
					if value, ok := spec.Values[i].(*ast.BasicLit); ok && value.Kind == token.STRING {
						text, err := strconv.Unquote(value.Value)
						if err != nil {
							t.Fatal(err)
						}
						reasons = append(reasons, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return reasons
}
