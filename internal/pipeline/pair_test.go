package pipeline

import (
	"context"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// rendering is a network that renders what a test has it render.
type rendering struct {
	fakeprovider.Network
	given []manifest.Object
	files []string
}

func (n rendering) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	return n, nil
}

func (n rendering) Render(*operatorv1.NetworkSpec, facts.Cluster) (provider.Output, error) {
	return provider.Output{Objects: n.given}, nil
}

func (n rendering) Operands() provider.Operands {
	return provider.Operands{Agents: []provider.Agent{{Namespace: "n", Name: "agent-of-" + string(n.With.Type), Files: n.files}}}
}

// listening is a DaemonSet on the network of nodes with one port.
func listening(name string, number int64, protocol string, host bool) manifest.Object {
	o := workload("DaemonSet", name)
	declared := map[string]any{"containerPort": number}
	if protocol != "" {
		declared["protocol"] = protocol
	}
	o.Object.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"] = map[string]any{
		"hostNetwork": host, "containers": []any{map[string]any{"name": "c", "ports": []any{declared}}},
	}
	return o
}

func TestConflictsOfTwoNetworksAreReported(t *testing.T) {
	config := func(text string) manifest.Object {
		o := object("v1", "ConfigMap", "openshift-flannel", "both")
		o.Object.Object["data"] = map[string]any{"a": text}
		return o
	}
	for _, tc := range []struct {
		why                string
		from, to           []manifest.Object
		fromFiles, toFiles []string
		want               []string
	}{
		{why: "different objects", from: []manifest.Object{workload("DaemonSet", "a")}, to: []manifest.Object{workload("DaemonSet", "b")}},
		{why: "one object that differs", from: []manifest.Object{config("1")}, to: []manifest.Object{config("2")},
			want: []string{"ConfigMap openshift-flannel/both differs between the networks"}},
		{why: "one object that is each network's own, with any content", from: []manifest.Object{config("1")}, to: []manifest.Object{config("1")},
			want: []string{"ConfigMap openshift-flannel/both differs between the networks"}},
		{why: "one port of nodes", from: []manifest.Object{listening("a", 9102, "TCP", true)}, to: []manifest.Object{listening("b", 9102, "", true)},
			want: []string{"port 9102/TCP of nodes is needed by DaemonSet openshift-flannel/a and by DaemonSet openshift-flannel/b"}},
		{why: "another protocol", from: []manifest.Object{listening("a", 9102, "TCP", true)}, to: []manifest.Object{listening("b", 9102, "UDP", true)}},
		{why: "a port of pods", from: []manifest.Object{listening("a", 9102, "TCP", true)}, to: []manifest.Object{listening("b", 9102, "TCP", false)}},
		{why: "one file", fromFiles: []string{"/run/x"}, toFiles: []string{"/run/w", "/run/x"}, want: []string{"file /run/x of nodes is needed by n/agent-of-Flannel and by n/agent-of-OVNKubernetes"}},
		{why: "two files", fromFiles: []string{"/run/x"}, toFiles: []string{"/run/y"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r := registry()
			r.Providers = []provider.Provider{
				rendering{fakeprovider.Network{With: flannelTraits()}, tc.from, tc.fromFiles},
				rendering{fakeprovider.Network{With: ovnTraits()}, tc.to, tc.toFiles},
			}
			p := Pipeline{Registry: r, Log: slog.New(slog.DiscardHandler)}
			pair, err := p.ChoosePair(t.Context(), Input{Applied: spec(), Desired: spec(typed(operatorv1.NetworkTypeOVNKubernetes)), Cluster: cluster()})
			if err != nil {
				t.Fatal(err)
			}
			both, err := pair.Render(t.Context(), cluster())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range both.Conflicts {
				got = append(got, c.String())
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
