package monitoring

import (
	"slices"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/promtest"
)

const (
	minute = time.Minute
	always = "1x2000"
	never  = "0x2000"
)

// condition is the metric of a condition, whose value is 1 while the condition is True.
func condition(kind, reason string) string {
	return `cluster_network_operator_condition{job="network-operator",condition="` + kind + `",reason="` + reason + `"}`
}

// TestAlertsFireWhenTheyShould uses Prometheus' rule engine. In each case no other alert may fire.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	const (
		up         = `up{job="network-operator"}`
		leader     = `leader_election_master_status{job="network-operator",name="network-operator-lock"}`
		errs       = `controller_runtime_reconcile_errors_total{job="network-operator",controller="network"}`
		nodes      = `cluster_network_operator_unreachable_nodes{job="network-operator"}`
		daemonset  = `kube_daemonset_status_number_unavailable{namespace="openshift-flannel",daemonset="flanneld"}`
		metrics    = `kube_daemonset_status_number_unavailable{namespace="openshift-kube-proxy",daemonset="kube-proxy-metrics"}`
		desired    = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-kube-proxy",daemonset="openshift-kube-proxy"}`
		agents     = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-flannel",daemonset="flanneld"}`
		agentUp    = `up{job="flanneld",node="a"}`
		connected  = `flanneld_etcd_connected{job="flanneld",node="a"}`
		other      = `flanneld_etcd_connected{job="flanneld",node="b"}`
		leads      = `etcd_server_has_leader{job="flannel-etcd",node="cp-0"}`
		leads2     = `etcd_server_has_leader{job="flannel-etcd",node="cp-1"}`
		size       = `etcd_mvcc_db_total_size_in_bytes{job="flannel-etcd",node="cp-0"}`
		quota      = `etcd_server_quota_backend_bytes{job="flannel-etcd",node="cp-0"}`
		ovnAgents  = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-ovn-kubernetes",daemonset="ovnkube"}`
		ovnUp      = `up{job="ovnkube",node="a"}`
		ovnFails   = `ovnkube_node_problems{job="ovnkube",node="a"}`
		noKeys     = `ovnkube_ipsec_missing_peers{job="ovn-ipsec",node="a"}`
		expiry     = `ovnkube_ipsec_certificate_expiry_timestamp_seconds{job="ovn-ipsec",node="a"}`
		masters    = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-ovn-kubernetes",daemonset="ovnkube-master"}`
		masterUp   = `up{job="ovnkube-master",node="cp-0"}`
		leadsOVN   = `ovnkube_master_leader{job="ovnkube-master",node="cp-0"}`
		followOVN  = `ovnkube_master_leader{job="ovnkube-master",node="cp-1"}`
		fast       = `ovnkube_master_programming_seconds_bucket{job="ovnkube-master",node="cp-0",kind="pod",le="1"}`
		slow       = `ovnkube_master_programming_seconds_bucket{job="ovnkube-master",node="cp-0",kind="pod",le="16"}`
		all        = `ovnkube_master_programming_seconds_bucket{job="ovnkube-master",node="cp-0",kind="pod",le="+Inf"}`
		sdnFast    = `openshift_sdn_programming_seconds_bucket{job="sdn",node="worker-0",kind="pod",le="1"}`
		sdnSlow    = `openshift_sdn_programming_seconds_bucket{job="sdn",node="worker-0",kind="pod",le="10"}`
		sdnAll     = `openshift_sdn_programming_seconds_bucket{job="sdn",node="worker-0",kind="pod",le="+Inf"}`
		otherFast  = `openshift_sdn_programming_seconds_bucket{job="sdn",node="worker-1",kind="pod",le="1"}`
		otherSlow  = `openshift_sdn_programming_seconds_bucket{job="sdn",node="worker-1",kind="pod",le="10"}`
		otherAll   = `openshift_sdn_programming_seconds_bucket{job="sdn",node="worker-1",kind="pod",le="+Inf"}`
		sdnAgents  = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-sdn",daemonset="sdn"}`
		sdnProxy   = `kube_pod_container_info{namespace="openshift-sdn",pod="sdn-a",container="kube-proxy"}`
		sdnProxyUp = `up{job="kube-proxy",namespace="openshift-sdn",node="a"}`
		sdnQueued  = `kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{job="kube-proxy",namespace="openshift-sdn",node="a"}`
		applyFast  = `kubeproxy_sync_proxy_rules_duration_seconds_bucket{job="kube-proxy",namespace="openshift-sdn",node="a",ip_family="IPv4",le="8.192"}`
		applyAll   = `kubeproxy_sync_proxy_rules_duration_seconds_bucket{job="kube-proxy",namespace="openshift-sdn",node="a",ip_family="IPv4",le="16.384"}`
		applyInf   = `kubeproxy_sync_proxy_rules_duration_seconds_bucket{job="kube-proxy",namespace="openshift-sdn",node="a",ip_family="IPv4",le="+Inf"}`
		otherApply = `kubeproxy_sync_proxy_rules_duration_seconds_bucket{job="kube-proxy",namespace="openshift-sdn",node="b",ip_family="IPv4",le="8.192"}`
		otherInf   = `kubeproxy_sync_proxy_rules_duration_seconds_bucket{job="kube-proxy",namespace="openshift-sdn",node="b",ip_family="IPv4",le="+Inf"}`
		sdnUp      = `up{job="sdn",node="a"}`
		sdnReady   = `openshift_sdn_ready{job="sdn",node="a"}`
		sdnFails   = `openshift_sdn_problems{job="sdn",node="a"}`
		sdnPods    = `openshift_sdn_pod_ips{job="sdn",node="a"}`
		sdnMost    = `openshift_sdn_pod_ips_max{job="sdn",node="a"}`
		repairs    = `openshift_sdn_repairs_total{job="sdn",node="a"}`
		sdnLeads   = `sdn_controller_leader{job="sdn-controller",node="cp-0"}`
		sdnFollow  = `sdn_controller_leader{job="sdn-controller",node="cp-1"}`
		sdnCtrls   = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-sdn",daemonset="sdn-controller"}`
		sdnCtrlUp  = `up{job="sdn-controller",node="cp-0"}`
		blockless  = `sdn_controller_nodes_without_subnet{job="sdn-controller",node="cp-0"}`
		proxyUp    = `up{job="kube-proxy",namespace="openshift-kube-proxy",node="a"}`
		queued     = `kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{job="kube-proxy",namespace="openshift-kube-proxy",node="a",ip_family="IPv4"}`
		synced     = `kubeproxy_sync_proxy_rules_last_timestamp_seconds{job="kube-proxy",namespace="openshift-kube-proxy",node="a",ip_family="IPv4"}`
		nftables   = `kubeproxy_sync_proxy_rules_nftables_sync_failures_total{job="kube-proxy",namespace="openshift-kube-proxy",node="a",ip_family="IPv4"}`
		iptables   = `kubeproxy_sync_proxy_rules_iptables_restore_failures_total{job="kube-proxy",namespace="openshift-kube-proxy",node="a",ip_family="IPv4"}`
		another    = `kube_daemonset_status_number_unavailable{namespace="default",daemonset="logger"}`
		leaf       = `cluster_network_operator_certificate_expiration_timestamp_seconds{job="network-operator",namespace="a",name="b",certificate="certificate"}`
		trusted    = `cluster_network_operator_trusted_ca_expiration_timestamp_seconds{job="network-operator"}`
		assigned   = `cluster_network_operator_address_pool_assigned_addresses{job="network-operator",pool="192.0.2.0-24"}`
		addresses  = `cluster_network_operator_address_pool_addresses{job="network-operator",pool="192.0.2.0-24"}`
		instances  = `network_attachment_definition_instances{job="network-operator",networks="macvlan"`
		enabled    = `network_attachment_definition_enabled_instance_up{job="network-operator",networks="macvlan"`
		multus     = `kube_daemonset_status_desired_number_scheduled{namespace="openshift-multus",daemonset="multus"}`
		multusUp   = `up{job="multus",node="a"}`
		dhcpUp     = `up{job="multus-dhcp",node="a"}`
		attaching  = `multus_problems{job="multus",node="a"}`
		lost       = `multus_dhcp_lost_leases{job="multus-dhcp",node="a"}`
		policies   = `multus_policy_problems{job="multus-policy",node="a"}`
		full       = `cluster_network_operator_flannel_etcd_no_space{job="network-operator",node="cp-0"}`
	)
	type series = map[string]string
	cases := []promtest.Case{
		{Name: "a cluster without problems", After: 30 * time.Hour, Series: series{
			condition("Available", "AsExpected"): always, condition("Degraded", "AsExpected"): never, condition("FlannelDegraded", "AsExpected"): never,
			condition("Upgradeable", "AsExpected"): always, errs: never, nodes: never, daemonset: never, leaf: "604800x2000", trusted: "1e9x2000"}},
		{Name: "no operator is scraped", After: 15 * minute, Series: series{up: never}, Firing: []string{"NetworkOperatorDown"}},
		{Name: "an operator restarts", After: 15 * minute, Series: series{up: "1x5 0x5 1x20"}},
		{Name: "no operator leads", After: 10 * minute, Series: series{leader: never}, Firing: []string{"NetworkOperatorWithoutLeader"}},
		{Name: "another replica leads", After: 10 * minute, Series: series{
			leader: never, `leader_election_master_status{job="network-operator",name="network-operator-lock",pod="b"}`: always}},
		{Name: "a controller fails for half an hour", After: 40 * minute, Series: series{errs: "0+1x60"}, Firing: []string{"NetworkOperatorLoopFails"}},
		{Name: "a controller failed for ten minutes", After: 40 * minute, Series: series{errs: "0+1x10 10x60"}},
		{Name: "the network is down", After: 5 * minute, Series: series{condition("Available", "WorkloadDown"): never}, Firing: []string{"NetworkUnavailable"}},
		{Name: "the network is being installed", After: 5 * minute, Series: series{condition("Available", "Startup"): never}},
		{Name: "the specification is invalid", After: 15 * minute, Series: series{condition("Degraded", "InvalidOperatorConfig"): always}, Firing: []string{"NetworkDegraded"}},
		{Name: "it was invalid for five minutes", After: 15 * minute, Series: series{condition("Degraded", "InvalidOperatorConfig"): "1x5 0x20"}},
		{Name: "a rollout stalls", After: 5 * minute, Series: series{condition("FlannelDegraded", "RolloutHung"): always}, Firing: []string{"NetworkRolloutStalled"}},
		{Name: "another client overwrites an object", After: 5 * minute, Series: series{condition("KubeProxyDegraded", "FightDetected"): always}, Firing: []string{"NetworkFightDetected"}},
		{Name: "paused for a day", After: 25 * time.Hour, Series: series{condition("Upgradeable", "Paused"): never}, Firing: []string{"NetworkOperatorPaused"}},
		{Name: "paused for an hour", After: time.Hour, Series: series{condition("Upgradeable", "Paused"): never}},
		{Name: "a node is unreachable", After: 10 * minute, Series: series{nodes: always}, Firing: []string{"NetworkNodeUnreachable"}},
		{Name: "an agent is not available", After: 20 * minute, Series: series{daemonset: always}, Firing: []string{"NetworkOperandUnavailable"}},
		{Name: "a DaemonSet of a tenant is not available", After: 20 * minute, Series: series{another: always}},
		{Name: "the proxies of metrics are not available", After: 20 * minute, Series: series{metrics: always}},
		{Name: "flannel's agents run", After: 20 * minute, Series: series{agents: "3x60", agentUp: always}},
		{Name: "the agent of a node cannot be scraped", After: 20 * minute, Series: series{agents: "3x60", agentUp: never}, Firing: []string{"NetworkFlanneldDown"}},
		{Name: "the agent of a node restarts", After: 20 * minute, Series: series{agents: "3x60", agentUp: "1x5 0x5 1x60"}},
		{Name: "an agent does not reach etcd", After: 20 * minute, Series: series{connected: never, other: always}, Firing: []string{"NetworkFlanneldDisconnected"}},
		{Name: "an agent reconnects", After: 20 * minute, Series: series{connected: "0x10 1x60", other: always}},
		{Name: "no agent is scraped", After: 20 * minute, Series: series{agents: "3x60"}, Firing: []string{"NetworkFlanneldDown"}},
		{Name: "kube-proxy runs", After: 30 * minute, Series: series{desired: "3x60", proxyUp: always, queued: "0+60x60", synced: "0+60x60", nftables: never, iptables: never}},
		{Name: "kube-proxy of a node cannot be scraped", After: 20 * minute, Series: series{desired: "3x60", proxyUp: never}, Firing: []string{"NetworkKubeProxyDown"}},
		{Name: "kube-proxy of a node restarts", After: 20 * minute, Series: series{desired: "3x60", proxyUp: "1x5 0x5 1x60"}},
		{Name: "no kube-proxy is scraped", After: 20 * minute, Series: series{desired: "3x60"}, Firing: []string{"NetworkKubeProxyDown"}},
		{Name: "kube-proxy of another installation cannot be scraped", After: 20 * minute, Series: series{`up{job="kube-proxy",namespace="kube-system",node="a"}`: never}},
		{Name: "kube-proxy in the pods of OpenShift SDN runs", After: 20 * minute, Series: series{sdnProxy: always, sdnProxyUp: always}},
		{Name: "kube-proxy in a pod of OpenShift SDN cannot be scraped", After: 20 * minute, Series: series{sdnProxy: always, sdnProxyUp: never}, Firing: []string{"NetworkKubeProxyDown"}},
		{Name: "no kube-proxy of OpenShift SDN is scraped", After: 20 * minute, Series: series{sdnProxy: always}, Firing: []string{"NetworkKubeProxyDown"}},
		{Name: "kube-proxy in a pod of OpenShift SDN has never synced", After: 30 * minute, Series: series{sdnQueued: "60x60"}, Firing: []string{"NetworkKubeProxyNotSyncing"}},
		{Name: "kube-proxy is stalled", After: 30 * minute, Series: series{queued: "60+60x60", synced: "0x60"}, Firing: []string{"NetworkKubeProxyNotSyncing", "NodeProxyApplyStale"}},
		{Name: "kube-proxy is behind for six minutes", After: 9 * minute, Series: series{queued: "0+60x2 150x60", synced: "0+60x2 120x60"}, Firing: []string{"NodeProxyApplyStale"}},
		{Name: "kube-proxy was behind for two minutes", After: 9 * minute, Series: series{queued: "0+60x2 150x60", synced: "0+60x2 120x2 300x60"}},
		{Name: "kube-proxy of one node syncs slowly", After: 30 * minute, Series: series{applyFast: "0x60", applyAll: "0+1x60", applyInf: "0+9x60", otherApply: "0+1000x60", otherInf: "0+1000x60"}, Firing: []string{"NodeProxyApplySlow"}},
		{Name: "kube-proxy of all nodes syncs slowly", After: 30 * minute, Series: series{applyFast: "0+9x60", applyAll: "0+10x60", applyInf: "0+10x60"}, Firing: []string{"ClusterProxyApplySlow"}},
		{Name: "kube-proxy syncs fast", After: 30 * minute, Series: series{applyFast: "0+10x60", applyAll: "0+10x60", applyInf: "0+10x60"}},
		{Name: "kube-proxy synced slowly once", After: 40 * minute, Series: series{applyFast: "0x60", applyAll: "0x5 1x60", applyInf: "0x5 1x60"}},
		{Name: "kube-proxy has nothing to sync", After: 30 * minute, Series: series{queued: "60x60", synced: "61x60"}},
		{Name: "kube-proxy has never synced", After: 30 * minute, Series: series{queued: "60x60"}, Firing: []string{"NetworkKubeProxyNotSyncing"}},
		{Name: "nft refuses the rules", After: 30 * minute, Series: series{nftables: "0+1x60"}, Firing: []string{"NetworkKubeProxyNotSyncing"}},
		{Name: "iptables refuses the rules", After: 30 * minute, Series: series{iptables: "0+1x60"}, Firing: []string{"NetworkKubeProxyNotSyncing"}},
		{Name: "one sync failed", After: 30 * minute, Series: series{nftables: "0x10 1x60"}},
		{Name: "a certificate expires within a day", After: 20 * minute, Series: series{leaf: "80000x2000"}, Firing: []string{"NetworkCertificateExpires"}},
		{Name: "a trusted CA expires within a week", After: 2 * time.Hour, Series: series{trusted: "500000x2000"}, Firing: []string{"NetworkTrustedCAExpires"}},
		{Name: "OVN-Kubernetes works", After: 30 * minute, Series: series{ovnAgents: "3x60", ovnUp: always, ovnFails: never, masters: "2x60", masterUp: always, leadsOVN: always, followOVN: never}},
		{Name: "the agent of OVN-Kubernetes cannot be scraped", After: 20 * minute, Series: series{ovnAgents: "3x60", ovnUp: never}, Firing: []string{"NetworkOVNNodeDown"}},
		{Name: "no agent of OVN-Kubernetes is scraped", After: 20 * minute, Series: series{ovnAgents: "3x60"}, Firing: []string{"NetworkOVNNodeDown"}},
		{Name: "a node cannot be configured", After: 20 * minute, Series: series{ovnFails: "2x60"}, Firing: []string{"NetworkOVNNodeFails"}},
		{Name: "a node is configured late", After: 20 * minute, Series: series{ovnFails: "2x10 0x60"}},
		{Name: "a node has no keys with others", After: 15 * minute, Series: series{noKeys: "2x60"}, Firing: []string{"NetworkOVNIPsecPeersMissing"}},
		{Name: "a node joins", After: 15 * minute, Series: series{noKeys: "1x5 0x60"}},
		{Name: "a certificate for IPsec expires in two days", After: 20 * minute, Series: series{expiry: "172800x60"}, Firing: []string{"NetworkOVNIPsecCertificateExpires"}},
		{Name: "a certificate for IPsec is renewed in time", After: 20 * minute, Series: series{expiry: "604800x60"}},
		{Name: "a node has no certificate for IPsec yet", After: 20 * minute, Series: series{expiry: never}},
		{Name: "no master leads", After: 10 * minute, Series: series{leadsOVN: never, followOVN: never, masters: "2x60", masterUp: always}, Firing: []string{"NetworkOVNWithoutLeader"}},
		{Name: "no master is scraped", After: 10 * minute, Series: series{masters: "2x60", masterUp: never}, Firing: []string{"NetworkOVNWithoutLeader"}},
		{Name: "another master takes over", After: 10 * minute, Series: series{leadsOVN: "1x3 0x60", followOVN: "0x4 1x60", masters: "2x60", masterUp: always}},
		{Name: "OpenShift SDN works", After: 30 * minute, Series: series{sdnAgents: "3x60", sdnUp: always, sdnReady: always, sdnFails: never, sdnPods: "20x60", sdnMost: "508x60", repairs: "2x60",
			sdnCtrls: "2x60", sdnCtrlUp: always, sdnLeads: always, sdnFollow: never, blockless: never}},
		{Name: "the agent of OpenShift SDN cannot be scraped", After: 20 * minute, Series: series{sdnAgents: "3x60", sdnUp: never}, Firing: []string{"NodeWithoutSDNPod"}},
		{Name: "no agent of OpenShift SDN is scraped", After: 20 * minute, Series: series{sdnAgents: "3x60"}, Firing: []string{"NodeWithoutSDNPod"}},
		{Name: "an agent of OpenShift SDN is not ready", After: 20 * minute, Series: series{sdnReady: never}, Firing: []string{"SDNPodNotReady"}},
		{Name: "OpenShift SDN cannot configure a node", After: 20 * minute, Series: series{sdnFails: "2x60"}, Firing: []string{"NetworkSDNNodeFails"}},
		{Name: "OpenShift SDN configures a node late", After: 20 * minute, Series: series{sdnFails: "2x10 0x60"}},
		{Name: "most addresses of a node are in use", After: 20 * minute, Series: series{sdnPods: "460x60", sdnMost: "508x60"}, Firing: []string{"NetworkSDNAddressesRunLow"}},
		{Name: "a node has no block yet", After: 20 * minute, Series: series{sdnPods: "0x60", sdnMost: "0x60"}},
		{Name: "another program changes a node repeatedly", After: 30 * minute, Series: series{repairs: "0+1x60"}, Firing: []string{"NetworkSDNRepairsRepeat"}},
		{Name: "another program changed a node once", After: 30 * minute, Series: series{repairs: "0x10 1x60"}},
		{Name: "a node programs flows slowly beside one with many more changes", After: 30 * minute, Series: series{sdnFast: "0+8x60", sdnSlow: "0+10x60", sdnAll: "0+10x60",
			otherFast: "0+1000x60", otherSlow: "0+1000x60", otherAll: "0+1000x60"}, Firing: []string{"NetworkSDNProgrammingSlow"}},
		{Name: "nodes program flows fast", After: 30 * minute, Series: series{sdnFast: "0+10x60", sdnSlow: "0+10x60", sdnAll: "0+10x60"}},
		{Name: "a node programmed flows slowly once", After: 40 * minute, Series: series{sdnFast: "0x60", sdnSlow: "0x5 10x60", sdnAll: "0x5 10x60"}},
		{Name: "no controller of OpenShift SDN leads", After: 15 * minute, Series: series{sdnCtrls: "2x60", sdnCtrlUp: always, sdnLeads: never, sdnFollow: never}, Firing: []string{"NodeWithoutSDNController"}},
		{Name: "no controller of OpenShift SDN is scraped", After: 15 * minute, Series: series{sdnCtrls: "2x60", sdnCtrlUp: never}, Firing: []string{"NodeWithoutSDNController"}},
		{Name: "a node waits for a block", After: 10 * minute, Series: series{blockless: "1x60"}, Firing: []string{"NetworkSDNSubnetsExhausted"}},
		{Name: "a hundredth of the changes is slow", After: 30 * minute, Series: series{fast: "0+95x60", slow: "0+100x60", all: "0+100x60"}, Firing: []string{"NetworkOVNProgrammingSlow"}},
		{Name: "changes are fast", After: 30 * minute, Series: series{fast: "0+100x60", slow: "0+100x60", all: "0+100x60"}},
		{Name: "flannel's etcd has no leader", After: 10 * minute, Series: series{leads: never, leads2: never}, Firing: []string{"NetworkEtcdWithoutLeader"}},
		{Name: "one member of flannel's etcd is cut off", After: 10 * minute, Series: series{leads: never, leads2: always}},
		{Name: "flannel's etcd elects a leader", After: 10 * minute, Series: series{leads: "1x3 0x3 1x60"}},
		{Name: "flannel's etcd is nearly full", After: 40 * minute, Series: series{size: "450x60", quota: "512x60"}, Firing: []string{"NetworkEtcdNearQuota"}},
		{Name: "flannel's etcd has been defragmented", After: 40 * minute, Series: series{size: "450x20 100x60", quota: "512x60"}},
		{Name: "flannel's etcd stays full", After: 20 * minute, Series: series{full: always}, Firing: []string{"NetworkEtcdNoSpace"}},
		{Name: "flannel's etcd was full, and has been repaired", After: 20 * minute, Series: series{full: "1x10 0x60"}},
		{Name: "few addresses are left", After: 15 * minute, Series: series{assigned: "230x60", addresses: "254x60"}, Firing: []string{"NetworkAddressesRunLow"}},
		{Name: "addresses were released", After: 15 * minute, Series: series{assigned: "230x5 200x60", addresses: "254x60"}},
		{Name: "further networks work", After: 30 * minute, Series: series{multus: "3x60", multusUp: always, dhcpUp: always, attaching: never, lost: never, policies: never}},
		{Name: "a daemon of further networks cannot be scraped", After: 20 * minute, Series: series{multus: "3x60", multusUp: never}, Firing: []string{"NetworkMultusDown"}},
		{Name: "... or its DHCP leases", After: 20 * minute, Series: series{multus: "3x60", multusUp: always, dhcpUp: never}, Firing: []string{"NetworkMultusDown"}},
		{Name: "no daemon of further networks is scraped", After: 20 * minute, Series: series{multus: "3x60"}, Firing: []string{"NetworkMultusDown"}},
		{Name: "a daemon of further networks restarts", After: 20 * minute, Series: series{multus: "3x60", multusUp: "1x5 0x5 1x60"}},
		{Name: "a daemon of further networks has a problem", After: 20 * minute, Series: series{attaching: "1x60"}, Firing: []string{"NetworkMultusFails"}},
		{Name: "... had one", After: 20 * minute, Series: series{attaching: "1x10 0x60"}},
		{Name: "a lease is lost", After: 15 * minute, Series: series{lost: "1x60"}, Firing: []string{"NetworkDHCPLeaseLost"}},
		{Name: "a lease is restored", After: 15 * minute, Series: series{lost: "1x5 0x60"}},
		{Name: "policies cannot be enforced", After: 15 * minute, Series: series{policies: "1x60"}, Firing: []string{"NetworkPoliciesNotEnforced"}},
		{Name: "policies are enforced late", After: 15 * minute, Series: series{policies: "1x5 0x60"}},
		{Name: "two replicas of the operator count pods on further networks", After: 15 * minute, Series: series{
			instances + `,pod="a"}`: "7x60", instances + `,pod="b"}`: "0x60", enabled + `,pod="a"}`: "1x60", enabled + `,pod="b"}`: "0x60"},
			Records: map[string]float64{`cluster:network_attachment_definition_instances:max{networks="macvlan"}`: 7,
				`cluster:network_attachment_definition_enabled_instance_up:max{networks="macvlan"}`: 1}},
		{Name: "there is no trusted CA", After: 2 * time.Hour, Series: series{trusted: never}},
	}
	promtest.Run(t, cases)
	for _, alert := range promtest.Alerts(t) {
		if !slices.ContainsFunc(cases, func(c promtest.Case) bool { return slices.Contains(c.Firing, alert) }) {
			t.Errorf("no case makes %s fire", alert)
		}
	}
}
