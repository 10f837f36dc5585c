// Package noproxy validates a cluster-wide proxy, and computes the destinations that are reached without it.
//
// Its input is the specification of a Proxy and the state of the cluster; its output is the merged NO_PROXY and all errors
// at once. A password in a URL never appears in any output except the URL itself: see Redact.
//
// It is pure.
package noproxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// Source is the subject of a Problem.
type Source string

// The sources of NO_PROXY in addition to the user's list.
const (
	Infrastructure Source = "Infrastructure"
	Network        Source = "Network"
	InstallConfig  Source = "InstallConfig"
)

// Problem is an error that prevents computing NO_PROXY.
type Problem struct {
	Source Source
	// Message is a sentence that names the object and the field.
	Message string
}

// Cluster has the state of the cluster from which NO_PROXY is computed.
type Cluster struct {
	// Infrastructure is the status of Infrastructure/cluster, and Network that of Network.config.openshift.io/cluster. Nil
	// means that the object does not exist, which is a Problem.
	Infrastructure *configv1.InfrastructureStatus
	Network        *configv1.NetworkStatus
	// MachineNetworks are the CIDRs of machine networks; none for a cluster that OpenShift's installer did not create,
	// which is no Problem.
	MachineNetworks []string
	// HostedControlPlane is true if the control plane runs in another cluster (HyperShift).
	HostedControlPlane bool
	// ProxyInternalAPIServer is true if the internal address of the API server is also reached through the proxy.
	ProxyInternalAPIServer bool
}

// everything is the item that excludes all destinations from the proxy. Many clients support it only as the single item.
const everything = "*"

// Merge returns NO_PROXY: the sorted items of the user and those that the cluster needs, without duplicates, separated by
// commas. It returns "" if there are problems. A user's * stays the single item, since it includes all others.
func Merge(user string, c Cluster) (string, []Problem) {
	items := Items(user)
	if slices.Equal(items, []string{everything}) {
		return everything, nil
	}
	entries := []string{"127.0.0.1", "localhost", ".svc", ".cluster.local"}
	if c.HostedControlPlane {
		entries = append(entries, ".hypershift.local")
	}
	var problems []Problem
	for _, part := range []func(Cluster) ([]string, []Problem){machines, network, infrastructure} {
		more, wrong := part(c)
		entries, problems = append(entries, more...), append(problems, wrong...)
	}
	if len(problems) > 0 {
		return "", problems
	}
	entries = append(entries, items...)
	slices.Sort(entries)
	return strings.Join(slices.Compact(entries), ","), nil
}

// Items returns the items of a comma-separated list without surrounding blanks and empty items, in lower case, since not
// all clients ignore the case of names.
func Items(list string) []string {
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, strings.ToLower(item))
		}
	}
	return items
}

// machines returns the machine networks. It refuses 0.0.0.0/0 and ::/0, which installers write for unknown networks and
// which would disable the proxy.
func machines(c Cluster) (entries []string, problems []Problem) {
	for _, cidr := range c.MachineNetworks {
		cidr = strings.TrimSpace(cidr)
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			problems = append(problems, Problem{InstallConfig, fmt.Sprintf("the install-config in ConfigMap kube-system/cluster-config-v1 has the machine network %q, which is not a CIDR", cidr)})
		} else if prefix.Bits() > 0 {
			entries = append(entries, cidr)
		}
	}
	return entries, problems
}

// network returns the networks of pods and Services.
func network(c Cluster) (entries []string, problems []Problem) {
	if c.Network == nil {
		return nil, []Problem{{Network, "networks.config.openshift.io/cluster, which has the networks of pods and Services, does not exist"}}
	}
	if len(c.Network.ServiceNetwork) == 0 {
		problems = append(problems, Problem{Network, "networks.config.openshift.io/cluster has no status.serviceNetwork"})
	}
	if len(c.Network.ClusterNetwork) == 0 {
		problems = append(problems, Problem{Network, "networks.config.openshift.io/cluster has no status.clusterNetwork"})
	}
	for i, n := range c.Network.ServiceNetwork {
		if strings.TrimSpace(n) == "" {
			problems = append(problems, Problem{Network, fmt.Sprintf("networks.config.openshift.io/cluster has an empty status.serviceNetwork[%d]", i)})
		}
		entries = append(entries, strings.TrimSpace(n))
	}
	for i, n := range c.Network.ClusterNetwork {
		if strings.TrimSpace(n.CIDR) == "" {
			problems = append(problems, Problem{Network, fmt.Sprintf("networks.config.openshift.io/cluster has an empty status.clusterNetwork[%d].cidr", i)})
		}
		entries = append(entries, strings.TrimSpace(n.CIDR))
	}
	return entries, problems
}

// infrastructure returns the internal name of the API server, and the fixed addresses of the platform's services.
func infrastructure(c Cluster) (entries []string, problems []Problem) {
	if c.Infrastructure == nil {
		return nil, []Problem{{Infrastructure, "infrastructures.config.openshift.io/cluster, which has the address of the API server, does not exist"}}
	}
	if !c.ProxyInternalAPIServer {
		u, err := url.Parse(c.Infrastructure.APIServerInternalURL)
		if err != nil || u.Hostname() == "" {
			problems = append(problems, Problem{Infrastructure, fmt.Sprintf("infrastructures.config.openshift.io/cluster has status.apiServerInternalURI %q, which does not name a host",
				Redact(c.Infrastructure.APIServerInternalURL))})
		} else {
			entries = append(entries, u.Hostname())
		}
	}
	return append(entries, platform(c.Infrastructure)...), problems
}

// Fixed addresses of cloud services inside a machine: metadata, and Azure's own services.
const (
	metadataAddress = "169.254.169.254"
	azureAddress    = "168.63.129.16"
)

func platform(infra *configv1.InfrastructureStatus) []string {
	status := configv1.PlatformStatus{}
	if infra.PlatformStatus != nil {
		status = *infra.PlatformStatus
	}
	switch cmp.Or(status.Type, infra.Platform) {
	case configv1.AWSPlatformType:
		return append([]string{metadataAddress}, aws(status.AWS)...)
	case configv1.AzurePlatformType:
		return append([]string{metadataAddress}, azure(status.Azure)...)
	case configv1.GCPPlatformType:
		return []string{metadataAddress, "metadata", "metadata.google.internal", "metadata.google.internal."}
	case configv1.OpenStackPlatformType:
		return []string{metadataAddress}
	}
	return nil
}

// aws returns the domain of machines, which is different in the oldest region.
func aws(status *configv1.AWSPlatformStatus) []string {
	switch {
	case status == nil || status.Region == "":
		return nil
	case status.Region == "us-east-1":
		return []string{".ec2.internal"}
	}
	return []string{"." + status.Region + ".compute.internal"}
}

// azure returns the services of Azure clouds other than the public one; an empty name is the public one.
func azure(status *configv1.AzurePlatformStatus) []string {
	if status == nil || status.CloudName == "" || status.CloudName == configv1.AzurePublicCloud {
		return nil
	}
	entries := []string{azureAddress}
	if status.CloudName != configv1.AzureStackCloud {
		return entries
	}
	if u, err := url.Parse(status.ARMEndpoint); err == nil && u.Hostname() != "" {
		return append(entries, u.Hostname())
	}
	return entries
}
