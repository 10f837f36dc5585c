package automatic

import (
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// rules moves the rules that refer to routing tables of the interface, or to packets that arrive on it: deactivating the interface's old profile removes
// them.
func (m *Configuration) rules(live livestate.State, holder *livestate.Link, bridge string) {
	tables := map[int]bool{}
	for _, r := range live.Routes {
		if r.Interface == holder.Name && r.Table != livestate.MainTable && r.Protocol != "kernel" {
			tables[r.Table] = true
		}
	}
	for _, r := range live.Rules {
		if !tables[r.Table] && r.Interface != holder.Name {
			continue
		}
		if m.Document.RouteRules == nil {
			m.Document.RouteRules = &nmstate.RouteRules{}
		}
		out := r.Desired()
		if r.Interface == holder.Name {
			out.IIF = bridge
		}
		m.Document.RouteRules.Config = append(m.Document.RouteRules.Config, out)
	}
}
