// Package archtest holds the shape of the tree as data, and tests that the tree has it. It reads source files
// with go/parser, and not the output of the go command, so that the test cache notices every change.
package archtest

import (
	"path"
	"strings"
)

// Layer is a set of packages. A package imports only from its own layer and from those with a smaller number.
type Layer int

// The layers, from the nouns that know nothing to the programs that know everything.
const (
	Nouns Layer = iota
	Pure
	Contract
	Providers
	Edges
	Loops
	Composition
)

func (l Layer) String() string {
	return [...]string{"nouns", "pure tools", "contract", "providers", "edges", "loops", "composition"}[l]
}

// rules maps path patterns below the module to layers; the first match counts. A pattern matches a directory and
// everything below it; * stands for one path element.
var rules = []struct {
	pattern string
	layer   Layer
}{
	{"api", Nouns},
	{"providers/*/agentconfig", Pure},
	{"providers/*/controller", Loops},
	{"providers/*/flows", Pure},
	{"providers/*/node", Loops},
	{"providers/*/northbound", Edges},
	{"providers/*/*test", Edges},
	{"providers/*/master", Loops},
	{"providers/*/tunnelprobe", Edges},
	{"providers", Providers},
	{"internal/applied", Contract},
	{"internal/facts", Contract},
	{"internal/etcdcluster/etcdclient", Edges},
	{"internal/etcdcluster/etcdsnapshot", Edges},
	{"internal/etcdcluster/etcdmanager", Loops},
	{"internal/etcdcluster", Contract},
	{"internal/metricsproxy", Contract},
	{"internal/mtumigration", Contract},
	{"internal/nodestate", Contract},
	{"internal/serviceproxy", Contract},
	{"internal/operandorder", Contract},
	{"internal/admission", Contract},
	{"internal/pipeline", Contract},
	{"internal/provider", Contract},
	{"internal/rollout", Contract},
	{"internal/trace", Contract},
	{"internal/agent/agentfile", Pure},
	{"internal/agent", Edges},
	{"internal/apitest", Edges},
	{"internal/apply", Edges},
	{"internal/checkendpoints", Edges},
	{"internal/checktarget", Edges},
	{"internal/cniserver", Edges},
	{"internal/nodecert", Edges},
	{"internal/cnishim", Edges},
	{"internal/multinet/attach", Edges},
	{"internal/multinet/dhcp", Edges},
	{"internal/multinet/whereabouts/store", Edges},
	{"internal/multinet/whereabouts/ipam", Edges},
	{"internal/multinet/egressrouter/plugin", Edges},
	{"internal/multinet/policy/kernel", Edges},
	{"internal/dayone/hostapply", Edges},
	{"internal/dayone/hostsync", Edges},
	{"internal/dayone/imageserver", Edges},
	{"internal/doctest", Edges},
	{"internal/preview", Composition},
	{"internal/host", Edges},
	{"internal/image", Edges},
	{"internal/kubeconfig", Edges},
	{"internal/leader", Edges},
	{"internal/objectevents", Edges},
	{"internal/fightevents", Edges},
	{"internal/logging", Edges},
	{"internal/loop", Edges},
	{"internal/offline", Edges},
	{"internal/perf", Edges},
	{"internal/podexec", Edges},
	{"internal/promtest", Edges},
	{"internal/netprobe", Edges},
	{"internal/report", Edges},
	{"internal/rolloutwatch", Edges},
	{"internal/testing", Edges},
	{"internal/metricsauth", Edges},
	{"internal/metricsserver", Edges},
	{"internal/multinet/dhcp", Edges},
	{"internal/controller", Loops},
	{"internal/cli", Composition},
	{"internal/typedclient", Edges},
	{"internal/ui/objects", Edges},
	{"internal/ui", Composition},
	{"internal/release", Composition},
	{"internal/operator", Composition},
	{"internal/archtest", Composition},
	{"internal/networks", Composition},
	{"internal", Pure},
	{"cmd", Composition},
	{"hack", Composition},
	{"images", Composition},
	{"config", Composition},
	{"charts", Composition},
}

// LayerOf returns the layer of a directory, given by its slash path below the module's root. ok is false if no
// rule names it.
func LayerOf(dir string) (l Layer, ok bool) {
	for _, r := range rules {
		if matches(r.pattern, dir) {
			return r.layer, true
		}
	}
	return 0, false
}

func matches(pattern, dir string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(dir, "/")
	if len(got) < len(want) {
		return false
	}
	for i, w := range want {
		if ok, _ := path.Match(w, got[i]); !ok {
			return false
		}
	}
	return true
}

// Unit returns the directory whose packages may import one another freely inside the layers whose members must
// not know their siblings: a provider's directory, a controller's directory. For all others it is empty.
func Unit(dir string) string {
	parts := strings.Split(dir, "/")
	switch {
	case len(parts) >= 2 && parts[0] == "providers":
		return strings.Join(parts[:2], "/")
	case len(parts) >= 3 && parts[0] == "internal" && (parts[1] == "controller" || parts[1] == "cli") && parts[2] != "exit":
		return strings.Join(parts[:3], "/")
	}
	return ""
}

// impure lists import paths that a pure package may not have, by prefix.
var impure = []string{
	"os", "os/exec", "net/http", "syscall",
	"github.com/vishvananda/netlink", "golang.org/x/sys/unix",
	"k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic",
	"sigs.k8s.io/controller-runtime/pkg/manager", "go.etcd.io/etcd/client",
}

// Impure reports whether a pure package may not import a path.
func Impure(importPath string) bool {
	// The scheme is a list of types; it only lies beside the clients.
	if importPath == "k8s.io/client-go/kubernetes/scheme" {
		return false
	}
	for _, p := range impure {
		if importPath == p || strings.Contains(p, ".") && strings.HasPrefix(importPath, p+"/") {
			return true
		}
	}
	return false
}
