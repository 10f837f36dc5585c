package noproxy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
)

func infra(change ...func(*configv1.InfrastructureStatus)) *configv1.InfrastructureStatus {
	s := &configv1.InfrastructureStatus{APIServerInternalURL: "https://api-int.lab.example.com:6443", PlatformStatus: &configv1.PlatformStatus{Type: configv1.NonePlatformType}}
	for _, f := range change {
		f(s)
	}
	return s
}

func platformOf(p configv1.PlatformStatus) *configv1.InfrastructureStatus {
	return infra(func(s *configv1.InfrastructureStatus) { s.PlatformStatus = &p })
}

func networks() *configv1.NetworkStatus {
	return &configv1.NetworkStatus{ServiceNetwork: []string{"172.30.0.0/16"}, ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}}}
}

// base is what every cluster of these tests has.
const base = "10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.lab.example.com,localhost"

func TestNoProxyIsMergedForEveryPlatform(t *testing.T) {
	for _, row := range []struct {
		why, user string
		cluster   Cluster
		want      string
	}{
		{"no platform", "", Cluster{Infrastructure: infra(), Network: networks()}, ".cluster.local,.svc," + base},
		{"items are trimmed, empty and duplicate ones dropped", " .example.com , ,.svc,.example.com", Cluster{Infrastructure: infra(), Network: networks()},
			".cluster.local,.example.com,.svc," + base},
		{"a network of machines that is everything would switch the proxy off", "", Cluster{Infrastructure: infra(), Network: networks(),
			MachineNetworks: []string{"0.0.0.0/0", "::/0", "0::0/0", " 10.0.0.0/16 "}}, ".cluster.local,.svc,10.0.0.0/16," + base},
		{"everything without the proxy stays alone, as many clients know it only so", " * ,", Cluster{Infrastructure: infra(), Network: networks()}, "*"},
		{"everything without the proxy needs nothing of the cluster", "*", Cluster{}, "*"},
		{"names are lowered, and are the same in either case", ".Example.COM,.example.com,FD00::1", Cluster{Infrastructure: infra(), Network: networks()},
			".cluster.local,.example.com,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.lab.example.com,fd00::1,localhost"},
		{"a hosted control plane has its own domain", "", Cluster{Infrastructure: infra(), Network: networks(), HostedControlPlane: true},
			".cluster.local,.hypershift.local,.svc," + base},
		{"the API server may be behind the proxy", "", Cluster{Infrastructure: &configv1.InfrastructureStatus{}, Network: networks(), ProxyInternalAPIServer: true},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,localhost"},
		{"the oldest region of AWS has another domain", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{
			Type: configv1.AWSPlatformType, AWS: &configv1.AWSPlatformStatus{Region: "us-east-1"}})},
			".cluster.local,.ec2.internal,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
		{"any other region has its name in it", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{
			Type: configv1.AWSPlatformType, AWS: &configv1.AWSPlatformStatus{Region: "eu-central-1"}})},
			".cluster.local,.eu-central-1.compute.internal,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
		{"AWS without a region yields no broken domain", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{Type: configv1.AWSPlatformType})},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
		{"GCP's metadata has three names", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{Type: configv1.GCPPlatformType})},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost,metadata,metadata.google.internal,metadata.google.internal."},
		{"OpenStack has metadata", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{Type: configv1.OpenStackPlatformType})},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
		{"no name of a cloud is Azure's public one", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{
			Type: configv1.AzurePlatformType, Azure: &configv1.AzurePlatformStatus{}})},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
		{"other clouds of Azure have their own address", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{
			Type: configv1.AzurePlatformType, Azure: &configv1.AzurePlatformStatus{CloudName: configv1.AzureUSGovernmentCloud}})},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,168.63.129.16,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
		{"Azure Stack has an endpoint, of which the host counts", "", Cluster{Network: networks(), Infrastructure: platformOf(configv1.PlatformStatus{
			Type: configv1.AzurePlatformType, Azure: &configv1.AzurePlatformStatus{CloudName: configv1.AzureStackCloud, ARMEndpoint: "https://management.stack.example.com:443/x"}})},
			".cluster.local,.svc,10.128.0.0/14,127.0.0.1,168.63.129.16,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost,management.stack.example.com"},
		{"an IPv6 API server is written without brackets", "", Cluster{Network: networks(), Infrastructure: infra(func(s *configv1.InfrastructureStatus) {
			s.APIServerInternalURL = "https://[fd00::1]:6443"
		})}, ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,172.30.0.0/16,fd00::1,localhost"},
		{"an old cluster has its platform in another field", "", Cluster{Network: networks(), Infrastructure: infra(func(s *configv1.InfrastructureStatus) {
			s.PlatformStatus, s.Platform = nil, configv1.OpenStackPlatformType
		})}, ".cluster.local,.svc,10.128.0.0/14,127.0.0.1,169.254.169.254,172.30.0.0/16,api-int.lab.example.com,localhost"},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, problems := Merge(row.user, row.cluster)
			if diff := cmp.Diff(row.want, got); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v\n%s", problems, diff)
			}
		})
	}
}

func TestAllMissingInputsOfNoProxyAreNamedAtOnce(t *testing.T) {
	for _, row := range []struct {
		why     string
		cluster Cluster
		want    []string
	}{
		{"nothing is known", Cluster{}, []string{"Network: networks.config.openshift.io/cluster, which has", "Infrastructure: infrastructures.config.openshift.io/cluster, which has"}},
		{"objects without contents, and a wrong CIDR", Cluster{Infrastructure: &configv1.InfrastructureStatus{}, Network: &configv1.NetworkStatus{}, MachineNetworks: []string{"10.0.0.0/33", "x"}},
			[]string{`InstallConfig: the install-config in ConfigMap kube-system/cluster-config-v1 has the machine network "10.0.0.0/33"`, `machine network "x"`,
				"no status.serviceNetwork", "no status.clusterNetwork", `status.apiServerInternalURI ""`}},
		{"an empty entry would be an item without text", Cluster{Infrastructure: infra(), Network: &configv1.NetworkStatus{ServiceNetwork: []string{" "}, ClusterNetwork: []configv1.ClusterNetworkEntry{{}}}},
			[]string{"empty status.serviceNetwork[0]", "empty status.clusterNetwork[0].cidr"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, problems := Merge(".example.com", row.cluster)
			if got != "" || len(problems) != len(row.want) {
				t.Fatalf("got %q and %d problems: %v", got, len(problems), problems)
			}
			for i, p := range problems {
				if text := string(p.Source) + ": " + p.Message; !strings.Contains(text, row.want[i]) {
					t.Errorf("problem %d is %q, want %q", i, text, row.want[i])
				}
			}
		})
	}
}

func TestMachineNetworksAreReadFromBothForms(t *testing.T) {
	got, err := MachineNetworks([]byte("apiVersion: v1\nnetworking:\n  machineCIDR: 10.0.0.0/16\n  machineNetwork:\n  - cidr: 10.1.0.0/16\n  - cidr: fd00::/48\npullSecret: ''\n"))
	if diff := cmp.Diff([]string{"10.0.0.0/16", "10.1.0.0/16", "fd00::/48"}, got); diff != "" || err != nil {
		t.Errorf("error %v\n%s", err, diff)
	}
	if got, err := MachineNetworks(nil); err != nil || got != nil {
		t.Errorf("an empty document: %v, %v", got, err)
	}
	if _, err := MachineNetworks([]byte("networking: [hunter2]")); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a document that is none: %v", err)
	}
}
