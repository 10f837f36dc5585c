package node

import (
	"context"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/node/ipsec"
)

// guard has the node drop packets of tunnels in the clear when IPsec requires that, before the first pod starts: the agent of IPsec may start later. Where
// IPsec is off, no rule stays, also on a node on which that agent could not remove it. Otherwise the rules are that agent's.
func (d *daemonState) guard(ctx context.Context) error {
	phase, err := ipsec.Phase(d.Config.IPsec.ConfigDir)
	if err != nil {
		return err
	}
	if d.phase != nil && *d.phase == phase {
		return nil
	}
	switch phase {
	case agentconfig.PhaseRequire:
		var esp ipsec.ESP
		if esp, err = ipsec.NewESP(d.Config.TunnelAddress, d.Config.TunnelPort, d.Config.Directories.ProcSys, !d.userspace); err == nil {
			err = ipsec.Guard(ctx, phase, d.Config.TunnelAddress, d.Config.TunnelPort, esp)
		}
	default:
		err = ipsec.Unguard(ctx)
	}
	if err == nil {
		d.phase = &phase
	}
	return err
}
