package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// TestFilesAreWrittenDurably: programs write files with internal/host/durable, so that a reader sees the old or the new content, also after
// a power failure. What does not need that, or cannot have it, is listed with its reason.
func TestFilesAreWrittenDurably(t *testing.T) {
	const (
		build   = "part of the build of images, which starts over after a failure"
		damaged = "sets a damaged file aside; without the new name the next start does it"
		output  = "an output of a command, which the user repeats after a failure"
	)
	reasons := map[string]struct {
		count  int
		reason string
	}{
		"cmd/cluster-network-operator/probe.go":              {1, "the termination message of a container, a file that is mounted"},
		"cmd/host-network/announce.go":                       {1, "an empty file below /run"},
		"internal/cli/dayone/imports/imports.go":             {1, output},
		"internal/cli/doctor/directory.go":                   {1, output},
		"internal/cli/ui/ui.go":                              {1, "a file for the browser that the command opens, removed when it ends"},
		"internal/cniserver/store.go":                        {1, damaged},
		"internal/dayone/hostapply/netlinkovs/execute.go":    {1, "a file of /proc/sys"},
		"internal/dayone/hostapply/netlinkovs/resolvconf.go": {1, "a file that is mounted, which cannot be replaced"},
		"internal/host/sysctl/sysctl.go":                     {1, "a file of /proc/sys"},
		"internal/image/apt.go":                              {1, build},
		"internal/image/archive.go":                          {1, build},
		"internal/image/oci.go":                              {1, build},
		"internal/image/packages.go":                         {1, build},
		"internal/multinet/attach/record.go":                 {1, damaged},
		"internal/multinet/attach/sweep.go":                  {1, "an empty marker, without which the next invocation repeats the work"},
		"internal/multinet/dhcp/record.go":                   {1, damaged},
		"internal/offline/destination.go":                    {2, output + "; a directory that does not exist is an error, and a device is written in place"},
		"providers/multus/node/policies_memory.go":           {1, damaged},
		"providers/openshiftsdn/node/addresses.go":           {1, "the release of an address; one that is lost in a power failure is repeated, as its sandbox does not exist"},
		"providers/ovnkubernetes/node/daemon/audit.go":       {1, "rotates a log; after a failure the next rotation does it"},
		"providers/ovnkubernetes/node/ipsec/charon.go":       {1, "a file below /run, written at each start"},
	}
	set, files := sources(t)
	found := map[string]int{}
	for _, f := range files {
		if f.dir == "internal/host/durable" || forTests(f.dir) || f.dir == "hack" || strings.HasPrefix(f.dir, "hack/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !isPackage(s.X, "os") || s.Sel.Name != "Rename" && s.Sel.Name != "WriteFile" {
				return true
			}
			if found[f.path]++; found[f.path] > reasons[f.path].count {
				t.Errorf("%s: os.%s; use internal/host/durable, or give a reason in this test", set.Position(n.Pos()), s.Sel.Name)
			}
			return true
		})
	}
	for path, row := range reasons {
		if found[path] < row.count || row.reason == "" {
			t.Errorf("%s has %d calls, and this test lists %d: remove what is no longer there", path, found[path], row.count)
		}
	}
}
