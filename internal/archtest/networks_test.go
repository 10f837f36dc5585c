package archtest

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// networkName matches the names of networks in identifiers and strings.
var networkName = regexp.MustCompile(`(?i)flannel|ovn-?kube|openshift-?sdn|kuryr|contiv|nuage`)

// namesNetworks are the files outside of a network's own directories that name networks, with how often and why. A network itself declares what
// others must know of it (provider.Operands, provider.Traits, provider.Fields): an entry is removed when that is true of the file, and a new
// one needs a reason.
var namesNetworks = map[string]struct {
	count  int
	reason string
}{
	"internal/cli/dayone/render/render.go":          {1, "help: br-ex is for OVN-Kubernetes"},
	"internal/cli/dayone/validate/validate.go":      {1, "help: br-ex is for OVN-Kubernetes"},
	"internal/cli/idle/command.go":                  {1, "help: the network that wakes Services"},
	"internal/cli/install/cluster.go":               {6, "agents of networks that other parties install"},
	"internal/cli/install/platform.go":              {1, "a flag of k3s"},
	"internal/cli/render/render.go":                 {1, "an example in a message"},
	"internal/controller/clusterconfig/validate.go": {1, "an example in a message"},
	"internal/controller/signer/ca.go":              {1, "the namespace that OpenShift's signer of IPsec uses, with every network"},
	"internal/controller/signer/policy.go":          {1, "the organizations that agents of OpenShift write into requests"},
	"internal/dayone/hostdocument/configured.go":    {1, "prefixes of interfaces that networks make, also ones of other installations"},
	"internal/dayone/validation/checkdocument.go":   {2, "messages: br-ex is for OVN-Kubernetes"},
	"internal/metricsproxy/metricsproxy.go":         {1, "the table of all metrics ports"},
	"internal/networkconfig/convert.go":             {8, "names that users write in the short form, and how early versions spelled them"},
	"internal/offline/input.go":                     {1, "an example in a message"},
	"internal/pipeline/fields.go":                   {1, "the package that reads spec.logLevel"},
	"internal/pipeline/merge.go":                    {1, "how early versions of the API spelled a field"},
	"internal/pipeline/validate.go":                 {18, "which settings belong to which type: fields of the API"},
	"internal/release/chart/values.go":              {1, "the default of the chart of a Network"},
	"internal/testing/fakeprovider/network.go":      {13, "the fields of the API that the network of tests uses"},
}

// ofNetworks are directories whose files are about one network, or about the names that users write.
func ofNetworks(dir string) bool {
	for _, d := range []string{"providers", "api", "cmd/flanneld", "cmd/openshift-sdn-controller", "cmd/openshift-sdn-node", "cmd/ovnkube", "internal/cli/podnetwork", "internal/networks"} {
		if dir == d || strings.HasPrefix(dir, d+"/") {
			return true
		}
	}
	return false
}

func TestNetworksAreNamedInTheirDirectoriesOnly(t *testing.T) {
	_, files := sources(t)
	found := map[string]int{}
	for _, f := range files {
		if ofNetworks(f.dir) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if networkName.MatchString(n.Name) {
					found[f.path]++
				}
			case *ast.BasicLit:
				if networkName.MatchString(n.Value) {
					found[f.path]++
				}
			}
			return true
		})
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if have := found[path]; have != namesNetworks[path].count {
			t.Errorf("%s names networks %d times, the list of exceptions has %d", path, have, namesNetworks[path].count)
		}
	}
	for path, e := range namesNetworks {
		if found[path] == 0 || e.reason == "" {
			t.Errorf("%s is in the list of exceptions, and names no network or has no reason", path)
		}
	}
}
