package preview_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// TestRefusedChangeOfTheTypeNamesConflicts: a change of the type is refused, and the notes list the conflicts of a forced one.
func TestRefusedChangeOfTheTypeNamesConflicts(t *testing.T) {
	of := func(kind operatorv1.NetworkType, edits ...string) string {
		text := strings.Replace(inUse, "type: Flannel", "type: "+string(kind), 1)
		for i := 0; i+1 < len(edits); i += 2 {
			text = strings.Replace(text, edits[i], edits[i+1], 1)
		}
		return text
	}
	known := facts.Cluster{
		HostMTU: 1500, NodeCount: 1, NodeAddresses: map[string][]netip.Addr{"node-0": {netip.MustParseAddr("192.0.2.10")}},
		ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "192.0.2.100", Port: 6443}, Images: facts.Images{facts.OperatorImage: "o:v1"},
	}
	p := pipeline.Pipeline{Registry: networks.Registry()}
	for _, image := range p.Registry.Operands().Images {
		known.Images[image.Variable] = image.Name + ":v1"
	}
	for _, tc := range []struct {
		why              string
		applied, desired string
		want             string // empty for no such note
	}{
		{"both keep the database of Open vSwitch", of("OVNKubernetes"), of("OpenShiftSDN"), "a forced change of the type runs OVNKubernetes and OpenShiftSDN side by side until the first is removed, and they conflict: " +
			"port 10256/TCP of nodes is needed by DaemonSet openshift-kube-proxy/openshift-kube-proxy and by DaemonSet openshift-sdn/sdn; " +
			"port 9102/TCP of nodes is needed by DaemonSet openshift-kube-proxy/kube-proxy-metrics and by DaemonSet openshift-sdn/sdn-metrics; " +
			"file /var/lib/openvswitch of nodes is needed by openshift-ovn-kubernetes/ovnkube and by openshift-sdn/sdn"},
		{"nothing is needed by both", of("Flannel"), of("OVNKubernetes"), ""},
		{"the change is refused for another reason, too", of("OVNKubernetes"), of("OpenShiftSDN", "10.96.0.0/16", "10.97.0.0/16"), ""},
		{"a refused change of one network", of("Flannel"), of("Flannel", "10.96.0.0/16", "10.97.0.0/16"), ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			read := func(text string) offline.Input {
				in, problems, err := offline.Files{Stdin: strings.NewReader(text)}.Configuration([]string{"-"})
				if err != nil || len(problems) > 0 {
					t.Fatal(problems, err)
				}
				return in
			}
			applied, desired := read(tc.applied), read(tc.desired)
			was, problems := applied.Spec()
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			before, err := p.Run(t.Context(), pipeline.Input{Desired: was, Cluster: known}, pipeline.Check)
			if err != nil {
				t.Fatal(err)
			}
			got, err := preview.Run(t.Context(), p, desired, preview.State{Input: pipeline.Input{Applied: before.Spec, Revision: 1, Cluster: known}})
			if err != nil || got.Decision != preview.Refused {
				t.Fatalf("%s, error %v; want it refused", got.Decision, err)
			}
			i := slices.IndexFunc(got.Notes, func(n string) bool { return strings.HasPrefix(n, "a forced change") })
			switch {
			case i < 0 && tc.want != "":
				t.Errorf("no note of conflicts in %q", got.Notes)
			case i >= 0 && got.Notes[i] != tc.want:
				t.Errorf("%s; want %q", got.Notes[i], tc.want)
			}
			if slices.ContainsFunc(got.Notes, func(n string) bool { return strings.Contains(n, "could be compared") }) {
				t.Error(got.Notes)
			}
		})
	}
}
