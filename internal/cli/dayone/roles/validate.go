package roles

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/preboot"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

// Surroundings returns what the files contain about the cluster, except for the documents before the boot, which Validate adds.
func (f Found) Surroundings() validation.Surroundings {
	return validation.Surroundings{WithoutBridge: f.WithoutBridge, MachineNetworks: f.MachineNetworks, VIPs: f.VIPs}
}

// Validate returns all problems of the files. The surroundings may contain more than those of the files.
func Validate(f Found, s validation.Surroundings) nmstate.Problems {
	problems := slices.Clone(f.Problems)
	places := map[string]func(nmstate.Problem) nmstate.Problem{}
	s.PreBoot, s.Documents = map[string]*nmstate.Document{}, &f.documents
	s.Locate = func(p nmstate.Problem) nmstate.Problem {
		if locate := places[p.File]; locate != nil {
			return locate(p)
		}
		return p
	}
	for _, host := range f.PreBoot {
		short := placement.ShortName(host.Name)
		name := validation.PreBootName(short)
		places[name] = host.locate
		doc, wrong := host.read, host.warnings
		if doc == nil {
			doc, wrong = preboot.Parse(name, host.Document)
		}
		for _, p := range wrong {
			problems = append(problems, s.Locate(p))
		}
		if doc != nil {
			s.PreBoot[short] = doc
		}
	}
	return append(problems, validation.Validate(f.Roles, s)...).Sorted()
}
