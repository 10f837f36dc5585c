package roles

import (
	"fmt"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
)

// Summary returns one line with the numbers of valid hosts, phases and warnings: "valid: 500 hosts, 2 phases (PreBoot, FirstBoot), 0 warnings".
func Summary(f Found, problems nmstate.Problems) string {
	hosts, shared, first := map[string]bool{}, false, false
	for _, role := range f.Roles {
		for _, file := range role.Files.Documents() {
			first = true
			if file.Name == placement.ClusterFile {
				shared = true
				continue
			}
			hosts[placement.ShortName(strings.TrimSuffix(file.Name, placement.Extension))] = true
		}
	}
	for _, host := range f.PreBoot {
		hosts[placement.ShortName(host.Name)] = true
	}
	var phases []string
	if len(f.PreBoot) > 0 {
		phases = append(phases, "PreBoot")
	}
	if first {
		phases = append(phases, "FirstBoot")
	}
	text := "valid: " + count(len(hosts), "host")
	if shared {
		text += " and all others of the role"
	}
	return fmt.Sprintf("%s, %s (%s), %s", text, count(len(phases), "phase"), strings.Join(phases, ", "), count(len(problems.Warnings()), "warning"))
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
