package roles

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
)

// Surroundings is what the files say of the cluster, but for the documents before the boot, which Validate adds.
func (f Found) Surroundings() placement.Surroundings {
	return placement.Surroundings{WithoutBridge: f.WithoutBridge, MachineNetworks: f.MachineNetworks, VIPs: f.VIPs}
}

// Validate returns everything that is wrong with what was found, in surroundings that may say more than the files do.
func Validate(f Found, s placement.Surroundings) nmstate.Problems {
	problems := slices.Clone(f.Problems)
	s.PreBoot = map[string]*nmstate.Document{}
	for _, host := range f.PreBoot {
		doc, wrong := preboot.Parse("before the boot of "+host.Name, host.Document)
		problems = append(problems, wrong...)
		if doc != nil {
			s.PreBoot[placement.ShortName(host.Name)] = doc
		}
	}
	return append(problems, placement.Validate(f.Roles, s)...).Sorted()
}
